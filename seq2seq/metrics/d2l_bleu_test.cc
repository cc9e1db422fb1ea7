#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "seq2seq/metrics/bleu.h"

namespace regard {
namespace {

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, ' ', absl::SkipEmpty());
}

struct Case {
  std::string prediction;
  std::string label;
  double score;
};

class D2lBleuTest : public ::testing::TestWithParam<Case> {};

TEST_P(D2lBleuTest, EqualsThePublishedScore) {
  EXPECT_NEAR(D2lBleu(Words(GetParam().prediction), Words(GetParam().label)),
              GetParam().score, 5e-5);
}

// Scores that the notebooks of "Dive into Deep Learning" print, rounded to four
// digits. Letters replace the words of the book's sentences.
INSTANTIATE_TEST_SUITE_P(
    Notebooks, D2lBleuTest,
    ::testing::Values(Case{"a b x d", "a b c d", 0.6580},
                      Case{"x b c", "a b c", 0.6866},
                      Case{"a b x e", "a b c d e", 0.5125},
                      Case{"a b c d a b c d a", "a b c d e", 0.5217},
                      Case{"a b c c x", "a b c d", 0.6514},
                      Case{"a b c d x y", "a b c d e", 0.7186},
                      Case{"a b x b x e", "a b c d e", 0.4729},
                      Case{"a b x y z", "a b c d e", 0.4472},
                      Case{"A B", "A B C D E F", 0.1353},
                      Case{"A B B C D", "A B C D E F", 0.6815}));

// For "A B B C D" against "A B C D E F", p_3 is 1/3 and p_4 is 0.
TEST(D2lBleuOrderTest, UsesTheGivenOrders) {
  const std::vector<std::string> prediction = Words("A B B C D");
  const std::vector<std::string> label = Words("A B C D E F");
  EXPECT_NEAR(D2lBleu(prediction, label, 1), 0.732295, 1e-6);
  EXPECT_NEAR(D2lBleu(prediction, label, 3), 0.594034, 1e-6);
  EXPECT_EQ(D2lBleu(prediction, label, 4), 0.0);
}

TEST(D2lBleuOrderTest, PerfectIsOneAndLongerIsNotRewarded) {
  EXPECT_EQ(D2lBleu(Words("a b c"), Words("a b c")), 1.0);
  EXPECT_LT(D2lBleu(Words("a b c c"), Words("a b c")), 1.0);
}

TEST(D2lBleuOrderTest, ShortPredictionsScoreZero) {
  EXPECT_EQ(D2lBleu({}, Words("a b")), 0.0);
  EXPECT_EQ(D2lBleu({}, {}), 0.0);
  EXPECT_EQ(D2lBleu(Words("a"), Words("a")), 0.0);
  EXPECT_EQ(D2lBleu(Words("a"), Words("a"), 1), 1.0);
  EXPECT_EQ(D2lBleu(Words("a b"), {}), 0.0);
}

}  // namespace
}  // namespace regard
