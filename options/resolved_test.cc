#include "options/resolved.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "files/testing/temporary_files.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "options/reader.h"
#include "options/test_config.pb.h"
#include "options/test_extension.pb.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::TestConfig;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ResolvedConfigTest : public testing::TemporaryFilesTest {
 protected:
  ResolvedConfigTest() {
    google::protobuf::LinkMessageReflection<lab::MyScore>();
    WriteFile("configs/base.textproto", "seed: 3\nmodel {\n  width: 8\n}\n");
    WriteFile("configs/a.textproto",
              "base: \"base.textproto\"\n"
              "data_path: \"caf\u00e9 \\\"1\\\"\"\n"
              "model {\n"
              "  layers { }\n"
              "  outside { [lab.my_score] { } [lab.lags]: [4, 5] }\n"
              "}\n"
              "sizes: [7]\n");
  }

  static std::string Resolve(TestConfig* config) {
    absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({"configs/a.textproto", std::nullopt},
                   {"rate=0.3", "model.layers[0].heads=2"}, config);
    EXPECT_THAT(origins, IsOk());
    return origins.ok() ? ResolvedConfig(*config, *origins) : "";
  }
};

TEST_F(ResolvedConfigTest, SaysWhereEachValueCameFrom) {
  TestConfig config;
  EXPECT_EQ(Resolve(&config),
            R"(# proto-file: options/test_config.proto
# proto-message: regard.testing.TestConfig

seed: 3  # configs/base.textproto:1
# steps: 0  # not set
rate: 0.3  # --set
# tolerance: 0  # not set
shuffle: true  # default
data_path: "café \"1\""  # configs/a.textproto:2
task: TRANSLATION  # default
model {  # configs/a.textproto:3
  width: 8  # configs/base.textproto:3
  dropout: 0.1  # default
  layers {  # configs/a.textproto:4
    heads: 2  # --set
  }
  outside {  # configs/a.textproto:5
    [lab.my_score] {  # configs/a.textproto:5
      width: 16  # default
    }
    [lab.lags]: 4  # configs/a.textproto:5
    [lab.lags]: 5  # configs/a.textproto:5
  }
}
sizes: 7  # configs/a.textproto:7
# large: 0  # not set
# raw: ""  # not set
)");
}

TEST_F(ResolvedConfigTest, ReadsBackAsTheSameConfig) {
  TestConfig config;
  const std::string text = Resolve(&config);
  TestConfig again;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"resolved.textproto", text}, {}, &again);
  ASSERT_THAT(origins, IsOk());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equivalent(config, again));
  // The fields must not depend on how the config was written.
  EXPECT_THAT(
      DiffResolvedFields(*ParseResolvedFields(text), ResolvedFields(again)),
      IsEmpty());
}

TEST_F(ResolvedConfigTest, ResolvingTwiceChangesNoValue) {
  TestConfig config;
  const std::string text = Resolve(&config);
  TestConfig again;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"resolved.textproto", text}, {}, &again);
  ASSERT_THAT(origins, IsOk());
  TestConfig third;
  ASSERT_THAT(ReadConfig({"twice.textproto", ResolvedConfig(again, *origins)},
                         {}, &third),
              IsOk());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(again, third));
}

// Returns "path: value" of each setting, with quotes around text.
std::vector<std::string> Settings(const std::string& text) {
  google::protobuf::LinkMessageReflection<lab::MyScore>();
  TestConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  std::vector<std::string> lines;
  for (const auto& [path, setting] : ConfigSettings(config)) {
    std::string value;
    if (const auto* number = std::get_if<double>(&setting)) {
      value = absl::StrCat(*number);
    } else if (const auto* truth = std::get_if<bool>(&setting)) {
      value = *truth ? "true" : "false";
    } else {
      value = absl::StrCat("'", std::get<std::string>(setting), "'");
    }
    lines.push_back(absl::StrCat(path, ": ", value));
  }
  return lines;
}

TEST(ConfigSettingsTest, DefaultsAreIncluded) {
  EXPECT_THAT(Settings(""),
              UnorderedElementsAre("seed: 1", "rate: 0.001", "shuffle: true",
                                   "task: 'TRANSLATION'"));
}

TEST(ConfigSettingsTest, KeepTheirTypes) {
  EXPECT_THAT(Settings("seed: 3 rate: inf shuffle: false data_path: 'a\"b' "
                       "task: REGRESSION tolerance: 4.9e-324"),
              UnorderedElementsAre("seed: 3", "rate: inf",
                                   "tolerance: 4.94066e-324", "shuffle: false",
                                   "data_path: 'a\"b'", "task: 'REGRESSION'"));
}

TEST(ConfigSettingsTest, AnEmptyOneofMemberIsNamed) {
  EXPECT_THAT(Settings("sgd {}"),
              UnorderedElementsAre("seed: 1", "rate: 0.001", "shuffle: true",
                                   "task: 'TRANSLATION'", "optimizer: 'sgd'"));
}

TEST(ConfigSettingsTest, GoIntoMessagesListsAndExtensions) {
  EXPECT_THAT(
      Settings("sizes: [5, 6] model { layers { heads: 2 } layers {} "
               "outside { [lab.my_score] { width: 7 } } }"),
      UnorderedElementsAre("seed: 1", "rate: 0.001", "shuffle: true",
                           "task: 'TRANSLATION'", "model.width: 32",
                           "model.dropout: 0.1", "model.layers[0].heads: 2",
                           "model.layers[1].heads: 4", "model.score: 'outside'",
                           "model.outside.[lab.my_score].width: 7",
                           "sizes[0]: 5", "sizes[1]: 6"));
}

using ::regard::testing::StatusIs;
using ::testing::FieldsAre;
using ::testing::HasSubstr;

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

// The resolved config must not show defaults for unset fields of an overlay.
TEST_F(ResolvedConfigTest, AnOverlayStaysAsItIs) {
  WriteFile("configs/a.textproto",
            "model {\n  width: 8\n}\n"
            "other_model {\n  dropout: 0.5\n  dot { }\n}\n");
  TestConfig config;
  absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"configs/a.textproto", std::nullopt}, {}, &config);
  ASSERT_THAT(origins, IsOk());
  const std::string text = ResolvedConfig(config, *origins);
  EXPECT_THAT(text,
              ::testing::HasSubstr("other_model {  # configs/a.textproto:4\n"
                                   "  dropout: 0.5  # configs/a.textproto:5\n"
                                   "  dot {  # configs/a.textproto:6\n"
                                   "  }\n"
                                   "}\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("  dropout: 0.1  # default\n"));
  TestConfig again;
  ASSERT_THAT(ReadConfig({"resolved.textproto", text}, {}, &again), IsOk());
  EXPECT_FALSE(again.other_model().has_width());
  EXPECT_FALSE(again.other_model().dot().has_scale());
}

TEST(ParseResolvedFields, ReadsPathsAndValues) {
  EXPECT_THAT(
      Fields(kAdditive),
      ElementsAre(FieldsAre("seed", "3", _), FieldsAre("model", "{...}", _),
                  FieldsAre("model.score", "{...}", _),
                  FieldsAre("model.score.additive", "{...}", _),
                  FieldsAre("model.score.additive.width", "32", _),
                  FieldsAre("model.name", R"("a # b \" c")", _),
                  FieldsAre("model.sizes", "4", _),
                  FieldsAre("model.sizes", "8", _)));
}

TEST(ParseResolvedFields, ReadsWhereValuesCameFrom) {
  EXPECT_THAT(Fields("seed: 3  # --set\n"
                     "model {  # configs/a.textproto:4\n"
                     "  width: 32  # default\n"
                     "  name: \"# x\"\n"
                     "}\n"),
              ElementsAre(FieldsAre("seed", "3", "--set"),
                          FieldsAre("model", "{...}", "configs/a.textproto:4"),
                          FieldsAre("model.width", "32", "default"),
                          FieldsAre("model.name", "\"# x\"", "")));
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

TEST(DiffResolvedFields, KeepsApartWhichElementAFieldIsIn) {
  EXPECT_THAT(
      DiffResolvedFields(Fields("l {\n a: 1\n m {\n}\n}\nl {\n b: 2\n}\n"),
                         Fields("l {\n m {\n}\n}\nl {\n a: 1\n b: 2\n}\n")),
      ElementsAre(
          FieldsAre("l", "{a: 1 m {}}, {b: 2}", "{m {}}, {a: 1 b: 2}")));
}

TEST(DiffResolvedFields, ShowsTheOnlyElementOfALongerListOnTheOtherSide) {
  EXPECT_THAT(
      DiffResolvedFields(Fields("l {\n a: 1\n}\n"),
                         Fields("l {\n a: 1\n}\nl {\n n {\n b: 2\n}\n}\n")),
      ElementsAre(FieldsAre("l", "{a: 1}", "{a: 1}, {n {b: 2}}")));
}

TEST(ReplaceResolvedFields, ReplacesOnlyTheLinesOfPaths) {
  const std::string text =
      "# a comment\n\nname: \"a\"  # a.textproto:1\n"
      "t {  # a.textproto:2\n  n: 1  # default\n  m: 2  # --set\n}\nn: 1\n";
  const std::string changed =
      "name: \"a\"  # r:3\nt {  # r:4\n  n: 5  # --set\n  m: 2  # r:6\n}\n";
  EXPECT_EQ(
      ReplaceResolvedFields(text, changed, {"t.n"}),
      "# a comment\n\nname: \"a\"  # a.textproto:1\n"
      "t {  # a.textproto:2\n  n: 5  # --set\n  m: 2  # --set\n}\nn: 1\n");
  EXPECT_EQ(ReplaceResolvedFields(text, changed, {}), text);
  EXPECT_EQ(ReplaceResolvedFields(text, changed, {"t.n", "t.o"}), changed);
  EXPECT_EQ(ReplaceResolvedFields("}\n", changed, {"t.n"}), changed);
}

// Returns a text config. `choice` selects the messages that are missing.
std::string NestedText(int choice) {
  std::string text = absl::StrCat("s: ", choice % 2, "\n");
  if (choice % 3 > 0) {
    absl::StrAppend(&text, "a {\n b: ", choice % 3, "\n");
    if (choice % 5 > 0) {
      absl::StrAppend(&text, " c {\n  d: ", choice % 5, "\n  e: 1\n }\n");
    }
    text += "}\n";
  }
  if (choice % 7 == 0) text += "t: 1\nt: 2\n";
  return text;
}

TEST(CountDifferences, FindsTheDifferencesOfAllPairs) {
  std::vector<std::vector<ResolvedField>> configs;
  for (int choice : {0, 1, 4, 4, 7, 10, 11, 14, 15, 28}) {
    configs.push_back(Fields(NestedText(choice)));
  }
  std::vector<size_t> wanted;
  for (const auto& config : configs) {
    size_t& sum = wanted.emplace_back();
    for (const auto& other : configs) {
      sum += DiffResolvedFields(config, other).size();
    }
  }
  EXPECT_EQ(CountDifferences(configs), wanted);
  EXPECT_THAT(CountDifferences({}), IsEmpty());
}

TEST(CountDifferences, CountsAListOfMessagesAsOneField) {
  const std::vector<ResolvedField> longer =
      Fields("l {\n a: 1\n b: 2\n}\nl {\n a: 1\n}\n");
  const std::vector<ResolvedField> one = Fields("l {\n a: 2\n b: 3\n}\n");
  const std::vector<ResolvedField> other = Fields("l {\n a: 3\n b: 4\n}\n");
  EXPECT_THAT(CountDifferences({longer, one, other}), ElementsAre(2, 2, 2));
  EXPECT_THAT(CountDifferences({one, other}), ElementsAre(2, 2));
}

}  // namespace
}  // namespace regard
