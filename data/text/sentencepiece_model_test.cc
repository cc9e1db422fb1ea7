#include "data/text/sentencepiece_model.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/random.h"
#include "data/text/sentencepiece.pb.h"
#include "data/text/subwords.pb.h"
#include "data/text/testing/handmade_sentencepiece.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::HandmadeSentencepiece;
using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Spaced(absl::string_view word) {
  return absl::StrCat(kSpaceSymbol, word);
}

TEST(SentencepieceModelTest, MergesByScoreFromTheLeft) {
  HandmadeSentencepiece bpe(sentencepiece::TrainerSpec::BPE);
  bpe.Add("ab", 0).Add("bc", -1).Add("abc", -2).Add("a", -3).Add("b", -4);
  bpe.Add("c", -5).Add(std::string(kSpaceSymbol), -6).Add("aa", -7);
  const auto model = bpe.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("abc"),
              ElementsAre(std::string(kSpaceSymbol), "abc"));
  EXPECT_THAT(model->Tokenize("bcab"),
              ElementsAre(std::string(kSpaceSymbol), "bc", "ab"));
  // If merges have equal scores, the leftmost merge must come first.
  EXPECT_THAT(model->Tokenize("aaa"),
              ElementsAre(std::string(kSpaceSymbol), "aa", "a"));
}

TEST(SentencepieceModelTest, ScoresAreFinite) {
  for (const float score : {std::numeric_limits<float>::quiet_NaN(),
                            -std::numeric_limits<float>::infinity()}) {
    HandmadeSentencepiece unigram(sentencepiece::TrainerSpec::UNIGRAM);
    unigram.Add("a", -2).Add("b", score);
    EXPECT_THAT(
        unigram.Parse(),
        StatusIs(
            absl::StatusCode::kInvalidArgument,
            "m.model: error: the score of piece 'b' must be a finite number"));
  }
}

TEST(SentencepieceModelTest, FindsTheLikeliestPieces) {
  HandmadeSentencepiece unigram(sentencepiece::TrainerSpec::UNIGRAM);
  unigram.Add("a", -2).Add("b", -2).Add("ab", -3).Add("abb", -7);
  unigram.Add(Spaced("a"), -1).Add(std::string(kSpaceSymbol), -2);
  const auto model = unigram.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("aab"), ElementsAre(Spaced("a"), "ab"));
  EXPECT_THAT(model->Tokenize("abb"), ElementsAre(Spaced("a"), "b", "b"));
}

TEST(SentencepieceModelTest, ConsecutiveUnknownCharactersAreOneToken) {
  HandmadeSentencepiece unigram(sentencepiece::TrainerSpec::UNIGRAM);
  unigram.Add("a", -2).Add(std::string(kSpaceSymbol), -2);
  const auto model = unigram.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_THAT(model->Tokenize("axya"),
              ElementsAre(std::string(kSpaceSymbol), "a", "xy", "a"));
}

TEST(SentencepieceModelTest, KeepsUserDefinedPiecesWhole) {
  using Proto = sentencepiece::ModelProto::SentencePiece;
  for (const auto type :
       {sentencepiece::TrainerSpec::BPE, sentencepiece::TrainerSpec::UNIGRAM}) {
    HandmadeSentencepiece made(type);
    made.Add("a", -1).Add("b", -2).Add("aab", -5);
    made.Add(std::string(kSpaceSymbol), -2);
    made.Add("ab", 0, Proto::USER_DEFINED);
    const auto model = made.Parse();
    ASSERT_THAT(model, IsOk());
    EXPECT_THAT(model->Tokenize("aab"),
                ElementsAre(std::string(kSpaceSymbol), "a", "ab"));
  }
}

// The scores of the pieces of a model, for tests of sampling.
using Scores = std::map<std::string, float>;

absl::StatusOr<SentencepieceModel> ModelOf(
    sentencepiece::TrainerSpec::ModelType type, const Scores& scores) {
  HandmadeSentencepiece made(type);
  for (const auto& [piece, score] : scores) made.Add(piece, score);
  // The space before a text has only one segmentation.
  made.Add(std::string(kSpaceSymbol), -9);
  return made.Parse();
}

SubwordSamplingConfig Sampling(double alpha, int nbest_size = -1) {
  SubwordSamplingConfig sampling;
  sampling.set_alpha(alpha);
  sampling.set_nbest_size(nbest_size);
  return sampling;
}

// Compares the frequency of each segmentation of `text` in random draws with
// its probability. A count deviates by 5 standard deviations with probability
// 6e-7.
void ExpectDistribution(const SentencepieceModel& model, const char* text,
                        const SubwordSamplingConfig& sampling,
                        const std::map<std::string, double>& probabilities) {
  constexpr int kDraws = 20000;
  std::map<std::string, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<std::string> tokens =
        model.Sample(text, sampling, RandomStream(11, absl::StrCat(i)));
    ASSERT_EQ(tokens.front(), kSpaceSymbol);
    tokens.erase(tokens.begin());
    ++counts[absl::StrJoin(tokens, " ")];
  }
  double sum = 0;
  for (const auto& [segmentation, p] : probabilities) {
    EXPECT_NEAR(counts[segmentation], kDraws * p,
                5 * std::sqrt(kDraws * p * (1 - p)) + 0.5)
        << segmentation;
    sum += p;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_EQ(counts.size(), probabilities.size());
}

// Returns P(x)^alpha, up to a factor, for all segmentations of `text`.
std::map<std::string, double> UnigramWeights(const std::string& text,
                                             const Scores& scores,
                                             double alpha) {
  if (text.empty()) return {{"", 1}};
  std::map<std::string, double> weights;
  for (size_t bytes = 1; bytes <= text.size(); ++bytes) {
    const auto piece = scores.find(text.substr(0, bytes));
    if (piece == scores.end()) continue;
    for (const auto& [rest, weight] :
         UnigramWeights(text.substr(bytes), scores, alpha)) {
      weights[absl::StrCat(piece->first, rest.empty() ? "" : " ", rest)] =
          weight * std::exp(alpha * static_cast<double>(piece->second));
    }
  }
  return weights;
}

TEST(SentencepieceModelTest, DrawsUnigramsByTheirProbability) {
  const Scores scores = {{"a", -2},    {"b", -2.5}, {"ab", -2.5},
                         {"ba", -3.5}, {"aba", -5}, {"bab", -4.5}};
  const auto model = ModelOf(sentencepiece::TrainerSpec::UNIGRAM, scores);
  ASSERT_THAT(model, IsOk());
  EXPECT_TRUE(model->is_unigram());
  for (const double alpha : {0.0, 0.2, 1.0}) {
    auto weights = UnigramWeights("ababa", scores, alpha);
    EXPECT_EQ(weights.size(), 13);
    double sum = 0;
    for (const auto& [segmentation, weight] : weights) sum += weight;
    for (auto& [segmentation, weight] : weights) weight /= sum;
    ExpectDistribution(*model, "ababa", Sampling(alpha), weights);
  }
}

// Returns the probability of each segmentation according to the published
// algorithm. It considers pairs of neighbours that form a piece and have not
// been skipped. The next pair is the one with the highest score. A pair is
// identified by its beginning, middle and end.
std::map<std::string, double> DropoutProbabilities(
    const std::vector<std::string>& symbols,
    const std::set<std::array<size_t, 3>>& left_out, const Scores& scores,
    double alpha) {
  size_t best = 0;
  std::array<size_t, 3> best_name = {};
  size_t begin = 0;
  for (size_t i = 1; i < symbols.size(); ++i) {
    const size_t middle = begin + symbols[i - 1].size();
    const std::array<size_t, 3> name = {begin, middle,
                                        middle + symbols[i].size()};
    begin = middle;
    const auto piece = scores.find(symbols[i - 1] + symbols[i]);
    if (piece == scores.end() || left_out.count(name) > 0) continue;
    if (best == 0 ||
        piece->second > scores.at(symbols[best - 1] + symbols[best])) {
      best = i;
      best_name = name;
    }
  }
  if (best == 0) return {{absl::StrJoin(symbols, " "), 1}};
  std::set<std::array<size_t, 3>> without = left_out;
  without.insert(best_name);
  std::vector<std::string> merged = symbols;
  merged[best - 1] += merged[best];
  merged.erase(merged.begin() + static_cast<int64_t>(best));
  std::map<std::string, double> probabilities;
  for (const auto& [segmentation, p] :
       DropoutProbabilities(symbols, without, scores, alpha)) {
    probabilities[segmentation] += alpha * p;
  }
  for (const auto& [segmentation, p] :
       DropoutProbabilities(merged, left_out, scores, alpha)) {
    probabilities[segmentation] += (1 - alpha) * p;
  }
  return probabilities;
}

TEST(SentencepieceModelTest, SkipsMergesWithTheirProbability) {
  const Scores scores = {{"a", -20},  {"b", -21}, {"ab", 0},    {"ba", -1},
                         {"aba", -2}, {"bb", -3}, {"abab", -4}, {"bab", -5}};
  const auto model = ModelOf(sentencepiece::TrainerSpec::BPE, scores);
  ASSERT_THAT(model, IsOk());
  EXPECT_TRUE(model->is_bpe());
  for (const double alpha : {0.1, 0.5}) {
    const auto probabilities =
        DropoutProbabilities({"a", "b", "a", "b", "b", "a"}, {}, scores, alpha);
    EXPECT_GT(probabilities.size(), 10);
    ExpectDistribution(*model, "ababba", Sampling(alpha), probabilities);
  }
}

TEST(SentencepieceModelTest, SkipsNoMergeOrEveryMerge) {
  const auto model = ModelOf(sentencepiece::TrainerSpec::BPE,
                             {{"a", -20}, {"b", -21}, {"ab", 0}, {"abab", 1}});
  ASSERT_THAT(model, IsOk());
  const RandomStream random(1, "");
  EXPECT_EQ(model->Sample("abab x", Sampling(0), random),
            model->Tokenize("abab x"));
  EXPECT_THAT(model->Sample("abab", Sampling(1), random),
              ElementsAre(std::string(kSpaceSymbol), "a", "b", "a", "b"));
  EXPECT_THAT(model->Sample(" ", Sampling(1), random), IsEmpty());
  EXPECT_EQ(model->MaxTokens("abab"), 5);
  EXPECT_EQ(model->MaxTokens(""), 0);
}

TEST(SentencepieceModelTest, DrawsOnlyAmongTheBestUnigrams) {
  const Scores scores = {{"a", -1}, {"b", -1}, {"ab", -1.5}, {"ba", -4}};
  const auto model = ModelOf(sentencepiece::TrainerSpec::UNIGRAM, scores);
  ASSERT_THAT(model, IsOk());
  const double best = std::exp(0.5 * -2.5);
  const double second = std::exp(0.5 * -3.0);
  ExpectDistribution(
      *model, "aba", Sampling(0.5, /*nbest_size=*/2),
      {{"ab a", best / (best + second)}, {"a b a", second / (best + second)}});
}

// If nbest_size is -1, the length of a user-defined piece must be measured in
// characters, as in the library. The weight of the first piece is then exp(1 *
// 0.5 - 0.1).
TEST(SentencepieceModelTest, DrawsUserDefinedPiecesByTheirCharacters) {
  HandmadeSentencepiece made(sentencepiece::TrainerSpec::UNIGRAM);
  made.Add("a", 0.5).Add("\u00e9a", -1).Add(std::string(kSpaceSymbol), -9);
  made.Add("\u00e9", -7,
           sentencepiece::ModelProto::SentencePiece::USER_DEFINED);
  const auto model = made.Parse();
  ASSERT_THAT(model, IsOk());
  const double parted =
      std::exp(0.4 + 0.5) / (std::exp(0.4 + 0.5) + std::exp(-1.0));
  ExpectDistribution(*model, "\u00e9a", Sampling(1),
                     {{"\u00e9 a", parted}, {"\u00e9a", 1 - parted}});
}

TEST(SentencepieceModelDeathTest, CharactersAreNotDrawn) {
  const auto model =
      ModelOf(sentencepiece::TrainerSpec::CHAR, {{"a", -1}, {"b", -2}});
  ASSERT_THAT(model, IsOk());
  EXPECT_DEATH(model->Sample("ab", {}, RandomStream(1, "")), "a model of type");
}

TEST(SentencepieceModelTest, TrimsAndJoinsSpaces) {
  HandmadeSentencepiece characters(sentencepiece::TrainerSpec::CHAR);
  characters.Add("a", -1).Add("b", -2).Add(std::string(kSpaceSymbol), -3);
  const auto model = characters.Parse();
  ASSERT_THAT(model, IsOk());
  const std::string space(kSpaceSymbol);
  EXPECT_THAT(model->Tokenize("  a   b "), ElementsAre(space, "a", space, "b"));
  EXPECT_THAT(model->Tokenize(""), IsEmpty());
  EXPECT_THAT(model->Tokenize("   "), IsEmpty());
  EXPECT_EQ(model->Detokenize({space, "a", space, "b"}), "a b");
  EXPECT_EQ(model->Detokenize({}), "");
}

TEST(SentencepieceModelTest, ItsVocabularyKeepsTheOrderOfThePieces) {
  using Proto = sentencepiece::ModelProto::SentencePiece;
  HandmadeSentencepiece bpe(sentencepiece::TrainerSpec::BPE);
  bpe.Add("<unk>", 0, Proto::UNKNOWN).Add("<s>", 0, Proto::CONTROL);
  bpe.Add("b", 0).Add("a", -1);
  const auto model = bpe.Parse();
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(model->MakeVocabulary().ToText(),
            "<unk>\n<pad>\n<bos>\n<eos>\nb\na\n");
}

TEST(SentencepieceModelTest, RefusesWhatItCannotRead) {
  EXPECT_THAT(SentencepieceModel::Parse("hello", "m.model"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("m.model: error: must be a SentencePiece")));
  EXPECT_THAT(SentencepieceModel::Parse("", "m.model"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
  HandmadeSentencepiece words(sentencepiece::TrainerSpec::WORD);
  words.Add("a", 0);
  EXPECT_THAT(words.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("type WORD")));
  HandmadeSentencepiece bytes(sentencepiece::TrainerSpec::BPE);
  bytes.Add("a", 0).proto().mutable_trainer_spec()->set_byte_fallback(true);
  EXPECT_THAT(bytes.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("byte_fallback")));
  HandmadeSentencepiece twice(sentencepiece::TrainerSpec::BPE);
  twice.Add("a", 0).Add("a", 0);
  EXPECT_THAT(twice.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("'a' occurs twice")));
  HandmadeSentencepiece damaged(sentencepiece::TrainerSpec::BPE);
  damaged.Add("a", 0)
      .proto()
      .mutable_normalizer_spec()
      ->set_precompiled_charsmap("\xff\xff\xff\xff junk");
  EXPECT_THAT(damaged.Parse(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        HasSubstr("character map")));
}

}  // namespace
}  // namespace regard
