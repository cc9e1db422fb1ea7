#include "experiments/sweep/axis_flag.h"

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/experiment.pb.h"
#include "experiments/sweep/sweep.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOk;

std::vector<std::string> ValuesOf(const std::string& flag) {
  const absl::StatusOr<SweepAxis> axis = ParseAxisFlag(flag);
  EXPECT_THAT(axis, IsOk());
  std::vector<std::string> values;
  for (const SweepValue& value : axis->value()) values.push_back(value.set(0));
  return values;
}

TEST(ParseAxisFlagTest, SplitsAtCommasOutsideOfBracketsAndQuotes) {
  EXPECT_THAT(ValuesOf("rate=.1, 0.2 ,3e-4"), ElementsAre(".1", "0.2", "3e-4"));
  EXPECT_THAT(
      ValuesOf("a.b=dot,additive { width: 8, bias: [1, 2] },{ c {} }"),
      ElementsAre("dot", "additive { width: 8, bias: [1, 2] }", "{ c {} }"));
  EXPECT_THAT(ValuesOf("a=\"x,\\\"y\",'1,}',[2,3]"),
              ElementsAre("\"x,\\\"y\"", "'1,}'", "[2,3]"));
  EXPECT_EQ(ParseAxisFlag(" a[1].b = 1,2")->path(0), "a[1].b");
}

TEST(ParseAxisFlagTest, PointsAtWhatIsWrong) {
  const auto error = [](const std::string& flag) {
    return std::string(ParseAxisFlag(flag).status().message());
  };
  EXPECT_EQ(error("rate=1,2,1"),
            "--axis: error: 1 appears twice\n"
            "  rate=1,2,1\n"
            "           ^");
  EXPECT_THAT(error("a={dot {},b"),
              HasSubstr("--axis: error: this '{' has no closing bracket\n"
                        "  a={dot {},b\n"
                        "    ^"));
  EXPECT_THAT(error("a=(1],2"), HasSubstr("']' has no opening bracket"));
  EXPECT_THAT(error("a=\"1,2"), HasSubstr("this quote has no closing quote"));
  EXPECT_THAT(error("a=1,"), HasSubstr("a value is empty"));
  EXPECT_THAT(error("a=,1"), HasSubstr("a value is empty"));
  EXPECT_THAT(error("a="), HasSubstr("a value is empty"));
  EXPECT_THAT(error("a=1"), HasSubstr("at least two values"));
  EXPECT_THAT(error("a"), HasSubstr("must be PATH=V1,V2"));
  EXPECT_THAT(error("=1,2"), HasSubstr("must be PATH=V1,V2"));
  EXPECT_THAT(error(""), HasSubstr("must be PATH=V1,V2"));
  EXPECT_THAT(error("seed=1,2"), HasSubstr("use --seeds=N instead"));
  // Both values have the label "dot", which must be an error.
  EXPECT_THAT(error("a=dot,{dot {}}"), HasSubstr("dot appears twice"));
}

TEST(WithBracesTest, AddsBracesOnlyToMessages) {
  const auto with = [](const std::string& path, const std::string& value) {
    return WithBraces(*Experiment::descriptor(), path, value);
  };
  EXPECT_EQ(with("model.attention", "dot"), "{dot {}}");
  EXPECT_EQ(with("model.attention", "dot { scale: false }"),
            "{dot { scale: false }}");
  EXPECT_EQ(with("model.attention", "{dot {}}"), "{dot {}}");
  EXPECT_EQ(with("model.attention", "outside { [lab.score] {} }"),
            "{outside { [lab.score] {} }}");
  EXPECT_EQ(with("name", "dot"), "dot");
  EXPECT_EQ(with("training.epochs", "3"), "3");
  EXPECT_EQ(with("probe", "[{site: 'a'}]"), "[{site: 'a'}]");
  EXPECT_EQ(with("probe[0]", "site: 'a'"), "{site: 'a'}");
  // If the path is invalid, the value must stay unchanged. The parser of
  // configs reports the error.
  EXPECT_EQ(with("model.atention", "dot"), "dot");
  EXPECT_EQ(with("training.epochs.more", "dot"), "dot");
}

TEST(LabelOfValueTest, OmitsFieldsForReaders) {
  EXPECT_EQ(LabelOfValue("{dot {}}"), "dot");
  EXPECT_EQ(LabelOfValue("dot { }"), "dot");
  EXPECT_EQ(LabelOfValue("dot"), "dot");
  EXPECT_EQ(LabelOfValue("{ dot { scale: false } }"), "dot { scale: false }");
  EXPECT_EQ(LabelOfValue("{a {} b {}}"), "a {} b {}");
  EXPECT_EQ(LabelOfValue("\"fra.txt\""), "fra.txt");
  EXPECT_EQ(LabelOfValue(".002"), "0.002");
  EXPECT_EQ(LabelOfValue("{}"), "");
}

}  // namespace
}  // namespace regard
