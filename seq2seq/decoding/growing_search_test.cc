// Compares searches by a decoder with growing keys and values to one pass over
// each result.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/testing/held_sites.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/memory.h"
#include "seq2seq/testing/growing_decoder.h"
#include "seq2seq/testing/search_member.h"

namespace regard {
namespace {

using Ids = std::vector<int32_t>;

constexpr int32_t kEnd = Vocabulary::kEnd;

SearchConfig Parse(const std::string& text) {
  SearchConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

// A decoder with growing keys and values, and sources of different lengths.
class GrowingSearchTest : public ::testing::Test {
 protected:
  static constexpr int64_t kWidth = GrowingDecoder<float>::kWidth;
  static constexpr int64_t kVocabulary = 12;

  // Returns the memory of the sources `which`.
  static Memory<float> Encode(Forward<float>& forward,
                              absl::Span<const int> which) {
    Tape<float>& tape = forward.tape();
    const auto sources = static_cast<int64_t>(which.size());
    auto* const lengths = tape.arena().New<int32_t>(sources);
    int64_t time = 0;
    for (size_t i = 0; i < which.size(); ++i) {
      lengths[i] = 1 + which[i] % 4;
      time = std::max<int64_t>(time, lengths[i]);
    }
    const Var<float> values = tape.Full({sources, time, kWidth}, 0);
    for (size_t i = 0; i < which.size(); ++i) {
      const RandomStream random(static_cast<uint64_t>(which[i]), "memory");
      for (int64_t j = 0; j < lengths[i] * kWidth; ++j) {
        values.data()[static_cast<int64_t>(i) * time * kWidth + j] =
            static_cast<float>(random.NormalAt(static_cast<uint64_t>(j)));
      }
    }
    return {.sources = sources,
            .values = values,
            .lengths = {lengths, which.size()}};
  }

  std::vector<std::vector<Hypothesis>> SearchFor(
      const std::vector<int>& which, const std::string& config,
      absl::Span<const int32_t> prompt = {}) {
    std::vector<SourceSearchInputs> sources;
    const size_t n = prompt.size() / which.size();
    for (size_t i = 0; i < which.size(); ++i) {
      sources.push_back({.max_length = 4 + which[i] % 5,
                         .key = static_cast<uint64_t>(which[i]),
                         .prompt = prompt.subspan(i * n, n)});
    }
    const EnsembleMember members[] = {member_.MakeMember(
        [&](Forward<float>& forward) { return Encode(forward, which); })};
    return Search({.members = members, .sources = sources}, Parse(config));
  }

  // Expects that one pass over the prompt and the hypothesis gives the
  // log-probability and the weights of the hypothesis.
  void ExpectOnePass(int source, const Ids& prompt,
                     const Hypothesis& hypothesis) {
    Forward<float>& forward = member_.forward();
    forward.BeginStep();
    const int which[] = {source};
    DecoderState<float> state = decoder_.Begin(forward, Encode(forward, which));
    Ids targets = hypothesis.ids;
    if (hypothesis.finished) targets.push_back(kEnd);
    Ids inputs = prompt;
    inputs.insert(inputs.end(), targets.begin(), targets.end() - 1);
    CapturingHook<float> hook("*attention/weights");
    forward.set_hook(&hook);
    const Var<float> output = decoder_.Advance(forward, inputs, {}, &state);
    forward.set_hook(nullptr);
    const Var<float> words = LogSoftmax(decoder_.Logits(forward, output));
    const Var<float> alignment = hook["*cross*"];
    double sum = 0;
    const auto first = static_cast<int64_t>(prompt.size()) - 1;
    for (size_t u = 0; u < targets.size(); ++u) {
      const auto row = first + static_cast<int64_t>(u);
      sum += static_cast<double>(words.at(row, targets[u]));
      for (int64_t j = 0; j < alignment.cols(); ++j) {
        EXPECT_NEAR(
            hypothesis.weights[u * static_cast<size_t>(alignment.cols()) +
                               static_cast<size_t>(j)],
            alignment.at(row, j), 1e-5);
      }
    }
    EXPECT_NEAR(hypothesis.log_probability, sum, 1e-4);
    EXPECT_EQ(hypothesis.weights.size(),
              targets.size() * static_cast<size_t>(alignment.cols()));
  }

  const GrowingDecoder<float> decoder_{kVocabulary, /*longest=*/40,
                                       /*seed=*/3};
  TestMember member_{decoder_};
};

const char* const kConfigs[] = {"", "beam: 3 n_best: 3",
                                "beam: 4 n_best: 2 coverage_penalty: 0.4",
                                "n_best: 3 sampling { temperature: 1.5 }"};

TEST_F(GrowingSearchTest, OnePassOverAHypothesisGivesItsNumbers) {
  bool finished = false;
  for (const char* config : kConfigs) {
    const std::vector<int> which = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const auto found = SearchFor(which, config);
    for (size_t i = 0; i < found.size(); ++i) {
      for (const Hypothesis& hypothesis : found[i]) {
        ExpectOnePass(which[i], {Vocabulary::kBegin}, hypothesis);
        finished |= hypothesis.finished;
      }
    }
  }
  EXPECT_TRUE(finished);
}

TEST_F(GrowingSearchTest, ASourceDoesNotDependOnTheBatch) {
  for (const char* config : kConfigs) {
    const std::vector<int> which = {9, 2, 7, 4, 0, 11, 5, 3};
    const auto together = SearchFor(which, config);
    for (size_t i = 0; i < which.size(); ++i) {
      const auto alone = SearchFor({which[i]}, config)[0];
      ASSERT_EQ(alone.size(), together[i].size());
      for (size_t n = 0; n < alone.size(); ++n) {
        EXPECT_EQ(alone[n].ids, together[i][n].ids);
        EXPECT_EQ(alone[n].weights, together[i][n].weights);
        EXPECT_EQ(alone[n].score, together[i][n].score);
      }
    }
  }
}

TEST_F(GrowingSearchTest, ContinuationsOfAPromptMatchOnePass) {
  for (const char* config : kConfigs) {
    const std::vector<int> which = {1, 6, 3};
    const std::vector<Ids> prompts = {{2, 4, 5}, {2, 7, 7}, {2, 11, 4}};
    Ids prompt;
    for (const Ids& ids : prompts) {
      prompt.insert(prompt.end(), ids.begin(), ids.end());
    }
    const auto found = SearchFor(which, config, prompt);
    for (size_t i = 0; i < which.size(); ++i) {
      for (const Hypothesis& hypothesis : found[i]) {
        ExpectOnePass(which[i], prompts[i], hypothesis);
      }
    }
  }
}

TEST_F(GrowingSearchTest, TheCoverageTermCoversTheWholeHypothesis) {
  const Hypothesis found =
      SearchFor({7}, "beam: 4 length_penalty: 0 coverage_penalty: 0.4")[0][0];
  constexpr size_t kKeys = 4;
  double term = 0;
  for (size_t j = 0; j < kKeys; ++j) {
    double received = 0;
    for (size_t u = 0; u < found.weights.size() / kKeys; ++u) {
      received += static_cast<double>(found.weights[u * kKeys + j]);
    }
    term += std::log(std::min(received, 1.0));
  }
  EXPECT_NEAR(found.score, found.log_probability + 0.4 * term, 1e-5);
}

// A source joins the search when the other sources have read as many ids as its
// prompt has. Two sources are done before the last source joins.
TEST(GrowingDecoderTest, PromptsOfSeveralLengthsAreIndependent) {
  const GrowingDecoder<float> first(12, /*longest=*/40, 3);
  const GrowingDecoder<float> second(12, /*longest=*/40, 4);
  TestMember one(first);
  TestMember two(second);
  const EnsembleMember members[] = {{&first, &one.forward()},
                                    {&second, &two.forward()}};
  const std::vector<Ids> prompts = {{2, 4, 5, 6, 7}, {},        {2, 7}, {9},
                                    {2, 4, 5, 6, 8}, Ids(20, 5)};
  std::vector<SourceSearchInputs> sources;
  for (size_t i = 0; i < prompts.size(); ++i) {
    sources.push_back({.max_length = 9, .key = i, .prompt = prompts[i]});
  }
  for (const char* config : {"", "beam: 3 n_best: 3", "beam: 2 min_length: 30",
                             "n_best: 3 sampling { temperature: 1.5 }"}) {
    const auto together =
        Search({.members = members, .sources = sources}, Parse(config));
    for (size_t i = 0; i < sources.size(); ++i) {
      const auto alone =
          Search({.members = members, .sources = {sources[i]}}, Parse(config));
      ASSERT_EQ(alone[0].size(), together[i].size());
      for (size_t n = 0; n < alone[0].size(); ++n) {
        EXPECT_EQ(alone[0][n].ids, together[i][n].ids) << config << ", " << i;
        EXPECT_EQ(alone[0][n].score, together[i][n].score);
      }
    }
  }
}

TEST(GrowingDecoderDeathTest, RefusesPromptsOfSeveralLengthsWithAMemory) {
  const GrowingDecoder<float> decoder(12, /*longest=*/40, 3);
  TestMember member(decoder);
  const EnsembleMember members[] = {member.MakeMember(2)};
  const Ids prompt = {2, 3};
  const SourceSearchInputs sources[] = {{.max_length = 9},
                                        {.max_length = 9, .prompt = prompt}};
  EXPECT_DEATH(Search({.members = members, .sources = sources}, Parse("")),
               "a memory, and a window or prompts of several lengths");
  const EnsembleMember free[] = {{&decoder, &member.forward()}};
  EXPECT_DEATH(
      Search({.members = free, .sources = sources, .window = 41}, Parse("")),
      "a window of 41 ids");
}

TEST(GrowingDecoderTest, NothingIsGeneratedPastTheLongestPosition) {
  const GrowingDecoder<float> decoder(12, /*longest=*/5, 3);
  TestMember member(decoder);
  const EnsembleMember members[] = {member.MakeMember(2)};
  SourceSearchInputs sources[] = {{.max_length = 100}, {.max_length = 3}};
  const int32_t prompts[] = {2, 5, 6, 2, 7, 4};
  sources[0].prompt = absl::MakeConstSpan(prompts).first(3);
  sources[1].prompt = absl::MakeConstSpan(prompts).last(3);
  const auto found =
      Search({.members = members, .sources = sources}, Parse("min_length: 50"));
  for (SourceSearchInputs& source : sources) source.prompt = {};
  // The outputs at positions 2, 3 and 4 choose one id each.
  EXPECT_EQ(found[0][0].ids.size(), 3);
  EXPECT_FALSE(found[0][0].finished);
  const auto whole = Search({.members = members, .sources = sources},
                            Parse("min_length: 50 beam: 2"));
  EXPECT_EQ(whole[0][0].ids.size(), 5);
  EXPECT_EQ(whole[1][0].ids.size(), 3);
  // At the longest position, the last choice is the ending id.
  for (const auto& ended : Search({.members = members, .sources = sources},
                                  Parse("min_length: 2 beam: 2"))) {
    EXPECT_TRUE(ended[0].finished);
  }
}

}  // namespace
}  // namespace regard
