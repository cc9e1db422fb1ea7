#include "seq2seq/decoding/repetition.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "seq2seq/decoding/search.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

std::vector<float> Changed(const SearchConfig& config,
                           const std::vector<int32_t>& text,
                           std::vector<float> scores = {3, -2, 0, 1}) {
  Arena arena;
  RepetitionProcessor repetition(config, static_cast<int64_t>(scores.size()),
                                 arena);
  const std::vector<float> before = scores;
  repetition.Apply(text, absl::MakeSpan(scores));
  // A second call for the same text must change the scores in the same way.
  std::vector<float> again = before;
  repetition.Apply(text, absl::MakeSpan(again));
  EXPECT_EQ(scores, again);
  return scores;
}

SearchConfig Penalty(double penalty) {
  SearchConfig config;
  config.set_repetition_penalty(penalty);
  return config;
}

SearchConfig NGrams(int n) {
  SearchConfig config;
  config.set_no_repeat_ngram(n);
  return config;
}

TEST(RepetitionTest, ScoresOfSeenIdsAreDividedOrMultiplied) {
  EXPECT_THAT(Changed(Penalty(2), {1, 0, 0, 2}), ElementsAre(1.5, -4, 0, 1));
  EXPECT_THAT(Changed(Penalty(0.5), {0, 1}), ElementsAre(6, -1, 0, 1));
  EXPECT_THAT(Changed(Penalty(2), {}), ElementsAre(3, -2, 0, 1));
}

TEST(RepetitionTest, IdsBeyondTheVocabularyAreIgnored) {
  EXPECT_THAT(Changed(Penalty(2), {-1, 4, 9, 3}), ElementsAre(3, -2, 0, 0.5));
  EXPECT_THAT(Changed(NGrams(1), {-1, 4, 3}),
              ElementsAre(3, -2, 0, kMinusInfinity));
}

TEST(RepetitionTest, AnIdThatCompletesASeenNGramIsImpossible) {
  // In the text, 1 is followed by 2 and later by 3. Therefore, neither 2 nor 3
  // may follow the last 1.
  const std::vector<int32_t> text = {1, 2, 1, 3, 1};
  EXPECT_THAT(Changed(NGrams(2), text),
              ElementsAre(3, -2, kMinusInfinity, kMinusInfinity));
  // In the text, "3 1" occurs only at the end, where no id follows.
  EXPECT_THAT(Changed(NGrams(3), text), ElementsAre(3, -2, 0, 1));
  EXPECT_THAT(Changed(NGrams(3), {0, 3, 1, 0, 3}),
              ElementsAre(3, kMinusInfinity, 0, 1));
  EXPECT_THAT(Changed(NGrams(1), {0, 2, 0}),
              ElementsAre(kMinusInfinity, -2, kMinusInfinity, 1));
}

TEST(RepetitionTest, AShortTextRepeatsNothing) {
  EXPECT_THAT(Changed(NGrams(3), {}), ElementsAre(3, -2, 0, 1));
  EXPECT_THAT(Changed(NGrams(3), {0, 0}), ElementsAre(3, -2, 0, 1));
  EXPECT_THAT(Changed(NGrams(3), {0, 0, 0}),
              ElementsAre(kMinusInfinity, -2, 0, 1));
}

TEST(RepetitionTest, ImpossibleIdsStayImpossible) {
  SearchConfig config = Penalty(2);
  config.set_no_repeat_ngram(1);
  EXPECT_THAT(Changed(config, {0}, {kMinusInfinity, 1, 1, 1}),
              ElementsAre(kMinusInfinity, 1, 1, 1));
}

TEST(RepetitionTest, IsOffByDefault) {
  EXPECT_FALSE(RepetitionProcessor::IsOn(SearchConfig()));
  EXPECT_FALSE(RepetitionProcessor::IsOn(Penalty(1)));
  EXPECT_TRUE(RepetitionProcessor::IsOn(Penalty(1.1)));
  EXPECT_TRUE(RepetitionProcessor::IsOn(NGrams(1)));
}

}  // namespace
}  // namespace regard
