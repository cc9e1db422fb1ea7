#include "experiments/ablation/resolved_fields.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kAdditive[] = R"(# proto-file: x.proto

seed: 3  # --set
# path: ""  # not set
model {  # a.textproto:4
  score {  # a.textproto:5
    additive {  # a.textproto:5
      width: 32  # default
    }
  }
  name: "a # b \" c"  # default
  sizes: 4  # a.textproto:6
  sizes: 8  # a.textproto:6
}
)";

std::vector<ResolvedField> Fields(const std::string& text) {
  const auto fields = ParseResolvedFields(text);
  EXPECT_TRUE(fields.ok()) << fields.status();
  return *fields;
}

TEST(ParseResolvedFields, ReadsPathsAndValues) {
  EXPECT_THAT(Fields(kAdditive),
              ElementsAre(FieldsAre("seed", "3"), FieldsAre("model", "{...}"),
                          FieldsAre("model.score", "{...}"),
                          FieldsAre("model.score.additive", "{...}"),
                          FieldsAre("model.score.additive.width", "32"),
                          FieldsAre("model.name", R"("a # b \" c")"),
                          FieldsAre("model.sizes", "4"),
                          FieldsAre("model.sizes", "8")));
}

TEST(ParseResolvedFields, GivesTheLineOfAnotherText) {
  for (const char* text : {"seed: 1\nhello\n", "a: 1\n}\n", "\nmodel {"}) {
    EXPECT_THAT(
        ParseResolvedFields(text),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2")))
        << text;
  }
}

TEST(DiffResolvedFields, FindsNoneInEqualConfigs) {
  EXPECT_THAT(DiffResolvedFields(Fields(kAdditive), Fields(kAdditive)),
              IsEmpty());
}

TEST(DiffResolvedFields, ListsValuesThatDiffer) {
  EXPECT_THAT(DiffResolvedFields(Fields("seed: 1  # a\nrate: 2\n"),
                                 Fields("rate: 2  # b\nseed: 3\n")),
              ElementsAre(FieldsAre("seed", "1", "3")));
}

TEST(DiffResolvedFields, ShowsAMessageOfOneSideAsOne) {
  EXPECT_THAT(
      DiffResolvedFields(
          Fields("score {\n additive {\n width: 8\n}\n}\n"),
          Fields("score {\n dot {\n scale: true\n bias: false\n}\n}\n")),
      ElementsAre(
          FieldsAre("score.additive", "{width: 8}", "not set"),
          FieldsAre("score.dot", "not set", "{scale: true bias: false}")));
}

TEST(DiffResolvedFields, ComparesListsAsAWhole) {
  EXPECT_THAT(
      DiffResolvedFields(Fields("s: 1\ns: 2\n"), Fields("s: 1\ns: 3\ns: 4\n")),
      ElementsAre(FieldsAre("s", "1, 2", "1, 3, 4")));
}

}  // namespace
}  // namespace regard
