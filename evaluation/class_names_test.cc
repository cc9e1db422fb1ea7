#include "evaluation/class_names.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;

const float kHalf = std::log(0.5F);
const float kQuarter = std::log(0.25F);

TEST(ClassNamesTest, ClassesOfOneNameAreOne) {
  const ClassNames names({"crane", "owl", "crane"});
  EXPECT_EQ(names.CanonicalLabel(2), 0);
  EXPECT_EQ(names.CanonicalLabel(1), 1);
  EXPECT_EQ(names.BestCanonicalLabel({kQuarter, kQuarter, kHalf}), 0);
  EXPECT_EQ(names.BestCanonicalLabel({kQuarter, kHalf, kQuarter}), 1);
  EXPECT_NEAR(names.Loss({kQuarter, kQuarter, kHalf}, 0), -std::log(0.75),
              1e-6);
  EXPECT_EQ(names.Loss({kQuarter, kQuarter, kHalf}, 1), -kQuarter);
  EXPECT_EQ(
      names.note(),
      "2 classes are named 'crane': a prediction is correct if its name is");
}

TEST(ClassNamesTest, UniqueNamesAreSeparateClasses) {
  const ClassNames names({"a", "b"});
  EXPECT_EQ(names.BestCanonicalLabel({kQuarter, kHalf}), 1);
  EXPECT_EQ(names.Loss({kQuarter, kHalf}, 0), -kQuarter);
  EXPECT_EQ(names.note(), "");
}

TEST(ClassNamesTest, TheNoteIsShort) {
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back(absl::StrCat("class ", i % 30));
  EXPECT_THAT(ClassNames(names).note(),
              HasSubstr("and 10 more names belong to several classes"));
}

}  // namespace
}  // namespace regard
