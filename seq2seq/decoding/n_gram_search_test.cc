// Compares the results of searches in a bigram table with a list of all
// sentences of the table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/testing/bigram_decoder.h"
#include "seq2seq/testing/search_member.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Ids = std::vector<int32_t>;
using Probabilities = std::vector<std::vector<double>>;

constexpr int32_t kEnd = Vocabulary::kEnd;
constexpr int32_t kA = 4;
constexpr int32_t kB = 5;

SearchConfig Parse(const std::string& text) {
  SearchConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

// Returns a table for the words a and b. The rows of `p` are the probabilities
// after <bos>, a and b. The columns are <eos>, a and b.
Probabilities Table(const std::vector<std::vector<double>>& p) {
  Probabilities table(6, {0, 0, 0, 1, 0, 0});
  const int32_t after[] = {Vocabulary::kBegin, kA, kB};
  for (size_t i = 0; i < 3; ++i) {
    table[static_cast<size_t>(after[i])] = {0, 0, 0, p[i][0], p[i][1], p[i][2]};
  }
  return table;
}

const Probabilities kFirst =
    Table({{0.1, 0.5, 0.4}, {0.3, 0.1, 0.6}, {0.23, 0.42, 0.35}});
const Probabilities kSecond =
    Table({{0.4, 0.2, 0.4}, {0.1, 0.7, 0.2}, {0.6, 0.1, 0.3}});

std::vector<Hypothesis> SearchIn(
    const std::vector<const Probabilities*>& tables, int64_t max_length,
    const std::string& config) {
  std::vector<std::unique_ptr<BigramDecoder>> decoders;
  std::vector<std::unique_ptr<TestMember>> members;
  std::vector<EnsembleMember> searched;
  for (const Probabilities* table : tables) {
    decoders.push_back(std::make_unique<BigramDecoder>(*table));
    members.push_back(std::make_unique<TestMember>(*decoders.back()));
    searched.push_back(members.back()->MakeMember(1));
  }
  const SourceSearchInputs source = {.max_length = max_length};
  return Search({.members = searched, .sources = {source}}, Parse(config))[0];
}

// Returns the log-probability of a sentence and <eos>: the sum of the
// logarithms of the tables' mean probabilities. With `logs`, returns the sum of
// the tables' mean log-probabilities instead.
double LogProbability(const std::vector<const Probabilities*>& tables, Ids ids,
                      bool logs = false) {
  ids.push_back(kEnd);
  const auto count = static_cast<double>(tables.size());
  double sum = 0;
  int32_t last = Vocabulary::kBegin;
  for (const int32_t id : ids) {
    double probability = 0;
    for (const Probabilities* table : tables) {
      const double p =
          (*table)[static_cast<size_t>(last)][static_cast<size_t>(id)];
      probability += p / count;
      if (logs) sum += std::log(p) / count;
    }
    if (!logs) sum += std::log(probability);
    last = id;
  }
  return sum;
}

// Returns all sentences of at most `longest` words, best first.
std::vector<Hypothesis> All(const std::vector<const Probabilities*>& tables,
                            size_t longest, double alpha, bool logs = false) {
  std::vector<Ids> sentences = {{}};
  for (size_t i = 0; i < sentences.size(); ++i) {
    if (sentences[i].size() == longest) continue;
    for (const int32_t word : {kA, kB}) {
      sentences.push_back(sentences[i]);
      sentences.back().push_back(word);
    }
  }
  std::vector<Hypothesis> all;
  for (const Ids& ids : sentences) {
    Hypothesis hypothesis;
    hypothesis.ids = ids;
    hypothesis.log_probability = LogProbability(tables, ids, logs);
    const double length = static_cast<double>(ids.size()) + 1;
    hypothesis.score =
        hypothesis.log_probability / std::pow((5 + length) / 6, alpha);
    all.push_back(hypothesis);
  }
  std::sort(all.begin(), all.end(),
            [](const Hypothesis& a, const Hypothesis& b) {
              return a.score > b.score;
            });
  return all;
}

void ExpectBest(const std::vector<const Probabilities*>& tables, double alpha,
                bool logs = false) {
  const std::vector<Hypothesis> expected = All(tables, 4, alpha, logs);
  // The beam is wide enough for all unfinished hypotheses.
  const std::vector<Hypothesis> found = SearchIn(
      tables, /*max_length=*/5,
      (logs ? "ensemble_mean: LOG_PROBABILITIES " : "") +
          ("beam: 64 n_best: 7 length_penalty: " + std::to_string(alpha)));
  ASSERT_EQ(found.size(), 7);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_TRUE(found[i].finished);
    // Sentences with the same bigrams have the same score.
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-5);
    EXPECT_NEAR(found[i].log_probability,
                LogProbability(tables, found[i].ids, logs), 1e-5);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(found[i].ids, found[j].ids);
    EXPECT_THAT(found[i].weights, IsEmpty());
  }
}

TEST(NGramSearchTest, AWideBeamFindsTheBestOfAllSentences) {
  for (const double alpha : {0.0, 0.6, 1.0, 4.0}) ExpectBest({&kFirst}, alpha);
}

TEST(NGramSearchTest, AnEnsembleFindsTheBestByItsMean) {
  for (const double alpha : {0.0, 1.0}) {
    ExpectBest({&kFirst, &kSecond}, alpha);
    ExpectBest({&kFirst, &kSecond}, alpha, /*logs=*/true);
  }
  EXPECT_NE(All({&kFirst}, 4, 0)[0].ids, All({&kFirst, &kSecond}, 4, 0)[0].ids);
}

TEST(NGramSearchTest, AnEnsembleAveragesProbabilities) {
  // By mean probability, a is likelier (0.4) than b (0.3). By mean logarithm, b
  // is likelier, because sqrt(0.3 * 0.3) > sqrt(0.7 * 0.1).
  const Probabilities first = Table({{0, 0.7, 0.3}, {1, 0, 0}, {1, 0, 0}});
  const Probabilities second = Table({{0.6, 0.1, 0.3}, {1, 0, 0}, {1, 0, 0}});
  const std::string two = "min_length: 1 length_penalty: 0 beam: 2 ";
  const Hypothesis arithmetic = SearchIn({&first, &second}, 5, two)[0];
  EXPECT_THAT(arithmetic.ids, ElementsAre(kA));
  EXPECT_NEAR(arithmetic.log_probability, std::log(0.4), 1e-6);
  const Hypothesis geometric = SearchIn(
      {&second, &first}, 5, two + "ensemble_mean: LOG_PROBABILITIES")[0];
  EXPECT_THAT(geometric.ids, ElementsAre(kB));
  EXPECT_NEAR(geometric.log_probability, std::log(0.3), 1e-6);
  // A word that has probability 0 for one member is impossible by mean
  // logarithms, but possible by mean probabilities.
  const Probabilities never = Table({{0, 0, 1}, {1, 0, 0}, {1, 0, 0}});
  EXPECT_THAT(SearchIn({&first, &never}, 5, "n_best: 2 " + two).size(), 2);
  EXPECT_THAT(SearchIn({&first, &never}, 5,
                       "ensemble_mean: LOG_PROBABILITIES n_best: 2 " + two)
                  .size(),
              1);
}

TEST(NGramSearchTest, GreedySearchTakesTheMostLikelyIdEachTime) {
  // The generated sentence is a b a b and so on. The ending id is never the
  // likeliest, but it is the only choice at the limit.
  const Hypothesis found = SearchIn({&kFirst}, 5, "")[0];
  EXPECT_THAT(found.ids, ElementsAre(kA, kB, kA, kB));
  EXPECT_TRUE(found.finished);
  EXPECT_NEAR(found.log_probability, std::log(0.5 * 0.6 * 0.42 * 0.6 * 0.23),
              1e-5);
  EXPECT_EQ(found.num_choices(), 5);
  // Greedy search must end when the ending id is likeliest, even if a longer
  // sentence has a better score.
  const Probabilities table = Table({{0.51, 0.49, 0}, {1, 0, 0}, {1, 0, 0}});
  EXPECT_THAT(SearchIn({&table}, 5, "length_penalty: 4")[0].ids, IsEmpty());
  EXPECT_THAT(SearchIn({&table}, 5, "beam: 2 length_penalty: 4")[0].ids,
              ElementsAre(kA));
}

TEST(NGramSearchTest, EndedHypothesesAreReplaced) {
  // <eos> and a are the best two at first, but b, the third, leads to a better
  // sentence than a.
  const Probabilities table =
      Table({{0.5, 0.3, 0.2}, {0.1, 0.9, 0}, {1, 0, 0}});
  const std::vector<Hypothesis> found =
      SearchIn({&table}, 20, "beam: 2 n_best: 2 length_penalty: 0");
  ASSERT_EQ(found.size(), 2);
  EXPECT_THAT(found[0].ids, IsEmpty());
  EXPECT_THAT(found[1].ids, ElementsAre(kB));
  EXPECT_NEAR(found[1].log_probability, std::log(0.2), 1e-6);
}

TEST(NGramSearchTest, UnlikelyEndsDoNotStopALikelySentence) {
  // The sentence 4 5 6 7 8 is likely. Shorter sentences are unlikely, but two
  // of them are complete earlier. Models trained with label smoothing have such
  // probabilities.
  Probabilities table(9, {0, 0, 0, 1, 0, 0, 0, 0, 0});
  for (const int32_t id : {Vocabulary::kBegin, 4, 5, 6, 7}) {
    std::vector<double>& row = table[static_cast<size_t>(id)];
    row[kEnd] = 0.01;
    row[static_cast<size_t>(id == Vocabulary::kBegin ? 4 : id + 1)] = 0.99;
  }
  for (const std::string length_penalty : {"0", "1"}) {
    const std::vector<Hypothesis> found = SearchIn(
        {&table}, 20, "beam: 2 n_best: 2 length_penalty: " + length_penalty);
    ASSERT_EQ(found.size(), 2);
    EXPECT_THAT(found[0].ids, ElementsAre(4, 5, 6, 7, 8));
    EXPECT_NEAR(found[0].log_probability, 5 * std::log(0.99), 1e-6);
  }
}

TEST(NGramSearchTest, HypothesesOfTheMaximumLengthEndByTheirScores) {
  // <eos> is among the best two only at the first step, where it is unlikely.
  const Probabilities table =
      Table({{0.02, 0.98, 0}, {0.2, 0.4, 0.4}, {0.2, 0.4, 0.4}});
  const std::vector<Hypothesis> found =
      SearchIn({&table}, 4, "beam: 2 n_best: 2");
  ASSERT_EQ(found.size(), 2);
  EXPECT_THAT(found[0].ids, ElementsAre(kA, kA, kA));
  EXPECT_THAT(found[1].ids, ElementsAre(kA, kA, kB));
  for (const Hypothesis& hypothesis : found) {
    EXPECT_TRUE(hypothesis.finished);
    EXPECT_NEAR(hypothesis.log_probability, std::log(0.98 * 0.4 * 0.4 * 0.2),
                1e-5);
    // The length penalty of 4 ids is (5 + 4) / 6.
    EXPECT_NEAR(hypothesis.score, std::log(0.98 * 0.4 * 0.4 * 0.2) / 1.5, 1e-5);
  }
  // Ending at once is better than ending later with an unlikely <eos>.
  const Probabilities never =
      Table({{0.02, 0.98, 0}, {1e-9, 0.5, 0.5}, {1e-9, 0.5, 0.5}});
  EXPECT_THAT(SearchIn({&never}, 4, "beam: 2")[0].ids, IsEmpty());
  const Hypothesis only = SearchIn({&kFirst}, 1, "beam: 2")[0];
  EXPECT_THAT(only.ids, IsEmpty());
  EXPECT_NEAR(only.log_probability, std::log(0.1), 1e-6);
}

TEST(NGramSearchTest, HypothesesThatCannotEndAtTheMaximumLengthAreDropped) {
  // The sentence cannot end after a. It can end after b.
  const Probabilities table =
      Table({{0, 0.9, 0.1}, {0, 0.5, 0.5}, {0.5, 0.5, 0}});
  const std::vector<Hypothesis> found =
      SearchIn({&table}, 2, "beam: 2 n_best: 2");
  ASSERT_EQ(found.size(), 1);
  EXPECT_THAT(found[0].ids, ElementsAre(kB));
  EXPECT_NEAR(found[0].log_probability, std::log(0.1 * 0.5), 1e-6);
}

TEST(NGramSearchTest, LengthsStayInTheirLimits) {
  const Probabilities table =
      Table({{0.9, 0.06, 0.04}, {0.8, 0.1, 0.1}, {0.7, 0.2, 0.1}});
  EXPECT_THAT(SearchIn({&table}, 9, "")[0].ids, IsEmpty());
  const Hypothesis longer = SearchIn({&table}, 9, "min_length: 3")[0];
  EXPECT_THAT(longer.ids, ElementsAre(kA, kA, kA));
  EXPECT_TRUE(longer.finished);
  const Hypothesis cut = SearchIn({&table}, 2, "min_length: 3 beam: 2")[0];
  EXPECT_EQ(cut.ids.size(), 2);
  EXPECT_FALSE(cut.finished);
}

TEST(NGramSearchTest, ReportsHypothesesThatEndedAtTheLimit) {
  const Probabilities longer =
      Table({{0.01, 0.89, 0.1}, {0.02, 0.9, 0.08}, {0.3, 0.6, 0.1}});
  for (const char* config : {"", "beam: 3", "sampling { top_k: 1 }"}) {
    const Hypothesis cut = SearchIn({&longer}, 3, config)[0];
    EXPECT_EQ(cut.num_choices(), 3) << config;
    EXPECT_TRUE(cut.at_limit) << config;
  }
  const Probabilities shorter =
      Table({{0.1, 0.8, 0.1}, {0.9, 0.05, 0.05}, {0.6, 0.3, 0.1}});
  for (const char* config : {"", "beam: 3", "sampling { top_k: 1 }"}) {
    const Hypothesis whole = SearchIn({&shorter}, 3, config)[0];
    EXPECT_THAT(whole.ids, ElementsAre(kA)) << config;
    EXPECT_FALSE(whole.at_limit) << config;
  }
}

TEST(NGramSearchTest, HypothesesThatEndAtTheLimitAreNotCut) {
  // The sentence, <eos> included, is as long as its limit. It would not be
  // longer with a higher limit.
  const Probabilities table =
      Table({{0.1, 0.8, 0.1}, {0.9, 0.05, 0.05}, {0.6, 0.3, 0.1}});
  for (const char* config : {"", "beam: 3", "sampling { top_k: 1 }"}) {
    const Hypothesis whole = SearchIn({&table}, 2, config)[0];
    EXPECT_EQ(whole.num_choices(), 2) << config;
    EXPECT_EQ(whole.ids, SearchIn({&table}, 9, config)[0].ids) << config;
    EXPECT_FALSE(whole.at_limit) << config;
  }
  // a is likelier than <eos>, unless a must not be repeated.
  const Probabilities again =
      Table({{0.1, 0.8, 0.1}, {0.4, 0.5, 0.1}, {0.6, 0.3, 0.1}});
  EXPECT_TRUE(SearchIn({&again}, 2, "")[0].at_limit);
  EXPECT_FALSE(SearchIn({&again}, 2, "no_repeat_ngram: 1")[0].at_limit);
}

TEST(NGramSearchTest, AHypothesisWithoutContinuationsStaysUnfinished) {
  const Probabilities nowhere = Table({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}});
  const Probabilities one = Table({{0, 1, 0}, {0, 0, 0}, {0, 0, 0}});
  for (const char* config : {"", "beam: 3", "sampling {}"}) {
    const std::vector<Hypothesis> none = SearchIn({&nowhere}, 9, config);
    ASSERT_EQ(none.size(), 1);
    EXPECT_THAT(none[0].ids, IsEmpty());
    EXPECT_FALSE(none[0].finished);
    const std::vector<Hypothesis> first = SearchIn({&one}, 9, config);
    ASSERT_EQ(first.size(), 1);
    EXPECT_THAT(first[0].ids, ElementsAre(kA));
    EXPECT_FALSE(first[0].finished);
  }
}

TEST(NGramSearchTest, NoNGramIsRepeated) {
  const std::string greedy = "no_repeat_ngram: 1 length_penalty: 0 ";
  // Neither a nor b may occur twice. The logits of the remaining ids are
  // normalized again: after a, the probability of b is 0.6 / 0.9.
  const Hypothesis found = SearchIn({&kFirst}, 6, greedy)[0];
  EXPECT_THAT(found.ids, ElementsAre(kA, kB));
  EXPECT_TRUE(found.finished);
  EXPECT_NEAR(found.log_probability, std::log(0.5 * 0.6 / 0.9), 1e-6);
  // In a beam search, probabilities must not be normalized again.
  const Hypothesis wide = SearchIn({&kFirst}, 6, greedy + "beam: 3")[0];
  EXPECT_THAT(wide.ids, ElementsAre(kA));
  EXPECT_NEAR(wide.log_probability, std::log(0.5 * 0.3), 1e-6);
  // After "a b a", b is excluded and <eos> is likeliest.
  EXPECT_THAT(SearchIn({&kFirst}, 9, "no_repeat_ngram: 2")[0].ids,
              ElementsAre(kA, kB, kA));
}

TEST(NGramSearchTest, RepeatedIdsArePenalized) {
  // After "a b", the penalty replaces the probabilities 0.42 of a and 0.35 of b
  // by their fourth powers, so <eos> is likeliest.
  const std::string penalty = "repetition_penalty: 4 length_penalty: 0 ";
  EXPECT_THAT(SearchIn({&kFirst}, 6, penalty)[0].ids, ElementsAre(kA, kB));
  // In a beam search, the powers must not be normalized again.
  const Hypothesis wide = SearchIn({&kFirst}, 6, penalty + "beam: 3")[0];
  EXPECT_THAT(wide.ids, ElementsAre(kA));
  EXPECT_NEAR(wide.log_probability, std::log(0.5 * 0.3), 1e-6);
  // A penalty below 1 favours a after a: 0.1 becomes its square root, 0.32.
  const Probabilities table =
      Table({{0, 0.9, 0.1}, {0.3, 0.1, 0.25}, {1, 0, 0}});
  EXPECT_THAT(
      SearchIn({&table}, 4, "repetition_penalty: 0.5 length_penalty: 0")[0].ids,
      ElementsAre(kA, kA, kA));
}

TEST(NGramSearchTest, RepetitionCountsThePromptAndTheEnsemblesMean) {
  const BigramDecoder decoder(kFirst);
  TestMember member(decoder);
  const EnsembleMember members[] = {member.MakeMember(2)};
  const int32_t prompts[] = {kA, kB, kA, kB, kB, kA};
  const auto prompt = absl::MakeConstSpan(prompts);
  const SourceSearchInputs sources[] = {
      {.max_length = 6, .prompt = prompt.first(3)},
      {.max_length = 6, .prompt = prompt.last(3)}};
  const auto found = Search({.members = members, .sources = sources},
                            Parse("no_repeat_ngram: 2 length_penalty: 0"));
  // After the prompt "a b a", b is impossible. After the prompt "b b a", b is
  // possible, but a second b is not.
  EXPECT_THAT(found[0][0].ids, IsEmpty());
  EXPECT_TRUE(found[0][0].finished);
  EXPECT_THAT(found[1][0].ids, ElementsAre(kB));
  EXPECT_THAT(SearchIn({&kFirst, &kSecond}, 9,
                       "no_repeat_ngram: 1 length_penalty: 0 beam: 3")[0]
                  .ids,
              IsEmpty());
}

TEST(NGramSearchTest, SamplesDoNotRepeatNGrams) {
  const BigramDecoder decoder(kFirst);
  for (const char* config :
       {"n_best: 9 no_repeat_ngram: 1 sampling {}",
        "n_best: 9 repetition_penalty: 100 sampling { temperature: 0.5 }"}) {
    TestMember member(decoder);
    const EnsembleMember members[] = {member.MakeMember(1)};
    const SourceSearchInputs sources[] = {{.max_length = 9}};
    const auto found =
        Search({.members = members, .sources = sources}, Parse(config));
    for (const Hypothesis& sample : found[0]) {
      EXPECT_TRUE(sample.finished);
      EXPECT_LE(std::count(sample.ids.begin(), sample.ids.end(), kA), 1);
      EXPECT_LE(std::count(sample.ids.begin(), sample.ids.end(), kB), 1);
    }
  }
}

// Returns samples of sources 0 .. count - 1.
std::vector<std::vector<Hypothesis>> Samples(int64_t count,
                                             const std::string& config,
                                             uint64_t first_key = 0) {
  const BigramDecoder decoder(kFirst);
  TestMember member(decoder);
  std::vector<SourceSearchInputs> sources;
  for (int64_t i = 0; i < count; ++i) {
    sources.push_back(
        {.max_length = 6, .key = first_key + static_cast<uint64_t>(i)});
  }
  const EnsembleMember members[] = {member.MakeMember(count)};
  return Search({.members = members, .sources = sources}, Parse(config));
}

TEST(NGramSearchTest, SampleFrequenciesMatchProbabilities) {
  constexpr int64_t kSources = 4000;
  std::map<Ids, double> shares;
  for (const auto& samples : Samples(kSources, "n_best: 5 sampling {}")) {
    ASSERT_EQ(samples.size(), 5);
    for (const Hypothesis& sample : samples) {
      if (!sample.finished) continue;
      EXPECT_NEAR(sample.log_probability, LogProbability({&kFirst}, sample.ids),
                  1e-5);
      shares[sample.ids] += 1.0 / (5 * kSources);
    }
  }
  for (const Ids& ids : std::vector<Ids>{{}, {kA}, {kB}, {kA, kB}, {kB, kA}}) {
    const double p = std::exp(LogProbability({&kFirst}, ids));
    // The tolerance is four standard deviations.
    EXPECT_NEAR(shares[ids], p, 4 * std::sqrt(p / (5 * kSources)));
  }
}

TEST(NGramSearchTest, SamplesDependOnlyOnSeedAndSource) {
  const auto samples = Samples(50, "n_best: 2 sampling { seed: 3 }");
  const auto part = Samples(10, "n_best: 2 sampling { seed: 3 }", 20);
  const auto other = Samples(50, "n_best: 2 sampling { seed: 4 }");
  int different = 0;
  for (size_t i = 0; i < 10; ++i) {
    for (size_t n = 0; n < 2; ++n) {
      EXPECT_EQ(part[i][n].ids, samples[20 + i][n].ids);
      EXPECT_EQ(part[i][n].log_probability, samples[20 + i][n].log_probability);
    }
  }
  for (size_t i = 0; i < 50; ++i) {
    different += samples[i][0].ids != other[i][0].ids;
  }
  EXPECT_GT(different, 20);
}

TEST(NGramSearchTest, TopKOfOneIsGreedySearch) {
  for (const auto& samples : Samples(5, "n_best: 2 sampling { top_k: 1 }")) {
    for (const Hypothesis& sample : samples) {
      EXPECT_THAT(sample.ids, ElementsAre(kA, kB, kA, kB, kA, kB));
    }
  }
}

TEST(NGramSearchDeathTest, RefusesMembersThatDoNotFit) {
  const BigramDecoder decoder(kFirst);
  const BigramDecoder smaller({{1, 0}, {1, 0}});
  TestMember member(decoder);
  TestMember other(smaller);
  const SourceSearchInputs sources[] = {{.max_length = 3}};
  const EnsembleMember both[] = {member.MakeMember(1), other.MakeMember(1)};
  EXPECT_DEATH(Search({.members = both, .sources = sources}, SearchConfig()),
               "vocabularies of an ensemble");
  const EnsembleMember two[] = {member.MakeMember(2)};
  EXPECT_DEATH(Search({.members = two, .sources = sources}, SearchConfig()),
               "sources of a memory");
  EXPECT_DEATH(Search({.members = {}, .sources = sources}, SearchConfig()),
               "no member");
}

}  // namespace
}  // namespace regard
