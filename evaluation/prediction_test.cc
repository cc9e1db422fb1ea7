#include "evaluation/prediction.h"

#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

TEST(CheckExampleTest, ExamplesAreCountedFromZero) {
  EXPECT_TRUE(CheckExample({.example = 1}, 2).ok());
  EXPECT_TRUE(CheckExample({.text = "typed"}, 0).ok());
  EXPECT_EQ(
      CheckExample({.example = 1}, 1),
      absl::InvalidArgumentError("the index of an example must be less than 1, "
                                 "the number of examples; got 1"));
  EXPECT_EQ(CheckExample({.example = 0}, 0),
            absl::InvalidArgumentError("there are no examples: the data have "
                                       "neither a test nor a dev split"));
}

TEST(CheckIsTextTest, ATextIsUtf8) {
  EXPECT_TRUE(CheckIsText({.text = "\u00e9"}).ok());
  EXPECT_EQ(CheckIsText({.text = "a\xff"}).message(),
            "byte 2: the text is not valid UTF-8");
}

TEST(CheckIsTextTest, AnExistingImageIsNotText) {
  for (const char* name : {"a.png", "a.JPG", "a.jpeg", "a.txt"}) {
    const std::string path = JoinPath(::testing::TempDir(), name);
    EXPECT_TRUE(CheckIsText({.text = path}).ok()) << name;
    std::ofstream(path) << "a";
    EXPECT_EQ(CheckIsText({.text = path}).ok(), path.back() == 't') << name;
  }
}

TEST(TextOrPairTest, APairHasATabBetween) {
  EXPECT_THAT(*ParseTextOrPair(""), ElementsAre(""));
  EXPECT_THAT(*ParseTextOrPair("a b"), ElementsAre("a b"));
  EXPECT_THAT(*ParseTextOrPair("a\t"), ElementsAre("a", ""));
  EXPECT_EQ(
      ParseTextOrPair("a\tb\tc").status(),
      absl::InvalidArgumentError(
          "expected a text, or two texts separated by a tab; got 2 tabs"));
}

TEST(RankedChoicesTest, AreTheMostLikelyAndTheFirstOfEqualChoices) {
  const auto ranked = [](size_t most) {
    std::string names;
    for (const Prediction::Choice& choice :
         RankedChoices({-1, 0, -2, 0}, most,
                       [](size_t i) { return std::string(1, "abcd"[i]); })) {
      names += choice.name;
      EXPECT_EQ(choice.probability, choice.name == "a" ? std::exp(-1.0) : 1);
    }
    return names;
  };
  EXPECT_EQ(ranked(3), "bda");
  EXPECT_EQ(ranked(1), "b");
}

TEST(PredictionRequestTest, HasNoExampleByDefault) {
  EXPECT_EQ(PredictionRequest().example, -1);
}

}  // namespace
}  // namespace regard
