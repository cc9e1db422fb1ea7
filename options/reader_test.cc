#include "options/reader.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "files/testing/temporary_files.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "options/config_text.h"
#include "options/test_config.pb.h"
#include "options/test_extension.pb.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::regard::testing::TestConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

// Returns a config as one line that contains only the fields that are set.
std::string Line(const TestConfig& config) { return config.ShortDebugString(); }

// Returns Line() of a text config, which may be written in any notation.
std::string LineOf(const std::string& text) {
  google::protobuf::LinkMessageReflection<lab::MyScore>();
  TestConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return Line(config);
}

class ReaderTest : public testing::TemporaryFilesTest {
 protected:
  std::string Read(const std::string& name,
                   const std::vector<std::string>& overrides = {}) {
    TestConfig config;
    absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({name, std::nullopt}, overrides, &config);
    EXPECT_THAT(origins, IsOk());
    if (origins.ok()) origins_ = *std::move(origins);
    return Line(config);
  }

  std::string Set(absl::string_view text, const std::string& argument) {
    WriteFile("set.textproto", text);
    return Read("set.textproto", {argument});
  }

  ConfigOrigins origins_;
};

TEST_F(ReaderTest, ReadsEveryKindOfValue) {
  const char* text = R"(
    seed: -3, steps: 0x10; rate: 2.5e-1f
    tolerance: 12345678901234567890 shuffle: false
    data_path: "a" 'b' "\n\u00e9" task: REGRESSION raw: "\xff"
    model < width: 8 layers { heads: 2 } layers: { } layers [{ heads: 1 }, {}]
      outside { [lab.my_score] { width: 8 } [lab.lags]: [1, 2] } >
    sizes: 1 sizes: [2, 3] names: ["x", "y"] adam: {})";
  WriteFile("a.textproto", text);
  EXPECT_EQ(Read("a.textproto"), LineOf(text));
}

TEST_F(ReaderTest, ClearsTheMessage) {
  WriteFile("a.textproto", "seed: 3");
  TestConfig config;
  config.set_steps(4);
  EXPECT_THAT(ReadConfig({"a.textproto", std::nullopt}, {}, &config), IsOk());
  EXPECT_EQ(Line(config), LineOf("seed: 3"));
}

TEST_F(ReaderTest, EmbeddedTextNeedsNoFile) {
  TestConfig config;
  absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"default.textproto", "seed: 3\nrate: 1"}, {}, &config);
  ASSERT_THAT(origins, IsOk());
  EXPECT_EQ(Line(config), LineOf("seed: 3 rate: 1"));
  EXPECT_THAT(origins->Find("rate"),
              Optional(std::string("default.textproto:2")));
}

TEST_F(ReaderTest, EmbeddedTextHasNoBase) {
  TestConfig config;
  EXPECT_THAT(ReadConfig({"default.textproto", "base: 'a'"}, {}, &config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("default.textproto:1:1: error: an embedded "
                                 "config cannot have a base")));
}

TEST_F(ReaderTest, ExtendsABaseBesideIt) {
  WriteFile("configs/base.textproto",
            "seed: 3\nrate: 0.5\nmodel { width: 8 dropout: 0 }\n"
            "sizes: [1, 2, 3]\nnames: 'kept'\nadam { beta1: 0.5 }");
  WriteFile("configs/more/a.textproto",
            "base: '../base.textproto'\nrate: 0.25\nmodel { width: 16 }\n"
            "sizes: 4\nsgd { }");
  EXPECT_EQ(Read("configs/more/a.textproto"),
            LineOf("seed: 3 rate: 0.25 model { width: 16 dropout: 0 } "
                   "sizes: 4 names: 'kept' sgd {}"));
  EXPECT_THAT(origins_.Find("seed"),
              Optional(std::string("configs/more/../base.textproto:1")));
  EXPECT_THAT(origins_.Find("model.width"),
              Optional(std::string("configs/more/a.textproto:3")));
  EXPECT_THAT(origins_.Find("model.dropout"),
              Optional(std::string("configs/more/../base.textproto:3")));
  EXPECT_THAT(origins_.Find("sizes[0]"),
              Optional(std::string("configs/more/a.textproto:4")));
  EXPECT_EQ(origins_.Find("sizes[1]"), std::nullopt);
  EXPECT_EQ(origins_.Find("adam"), std::nullopt);
  EXPECT_EQ(origins_.Find("adam.beta1"), std::nullopt);
  EXPECT_EQ(origins_.Find("base"), std::nullopt);
}

TEST_F(ReaderTest, AMessageCombinesWithTheSameMemberOfAOneof) {
  WriteFile("base.textproto", "adam { beta1: 0.5 }");
  WriteFile("a.textproto", "base: 'base.textproto' adam { beta2: 0.25 }");
  EXPECT_EQ(Read("a.textproto"), LineOf("adam { beta1: 0.5 beta2: 0.25 }"));
}

TEST_F(ReaderTest, ExplicitDefaultOverridesABase) {
  WriteFile("base.textproto", "seed: 3");
  WriteFile("a.textproto", "base: 'base.textproto' seed: 1");
  EXPECT_EQ(Read("a.textproto"), LineOf("seed: 1"));
}

TEST_F(ReaderTest, EmptyListClearsTheBases) {
  WriteFile("base.textproto",
            "sizes: [1, 2] model { layers {} outside { [lab.lags]: 1 } }");
  WriteFile("a.textproto",
            "base: 'base.textproto' sizes: [] "
            "model { layers: [] outside { [lab.lags]: [] } }");
  EXPECT_EQ(Read("a.textproto"), LineOf("model { outside {} }"));
}

TEST_F(ReaderTest, ListsInsideCombinedMessagesReplace) {
  WriteFile("base.textproto",
            "model { layers { heads: 1 } layers { heads: 2 } width: 8 }");
  WriteFile("a.textproto",
            "base: 'base.textproto' model { layers { heads: 3 } }");
  EXPECT_EQ(Read("a.textproto"),
            LineOf("model { layers { heads: 3 } width: 8 }"));
}

TEST_F(ReaderTest, AMessageThatReplacesIsNotCombined) {
  WriteFile("base.textproto", "whole { leaf: 1 child { leaf: 2 } }");
  WriteFile("a.textproto", "base: 'base.textproto' whole { leaf: 3 }");
  EXPECT_EQ(Read("a.textproto"), LineOf("whole { leaf: 3 }"));
  EXPECT_EQ(Set("whole { leaf: 1 child { leaf: 2 } }", "whole={child {}}"),
            LineOf("whole { child {} }"));
  // An override of a field inside the message must set only this field.
  EXPECT_EQ(Set("whole { leaf: 1 child { leaf: 2 } }", "whole.leaf=3"),
            LineOf("whole { leaf: 3 child { leaf: 2 } }"));
}

TEST_F(ReaderTest, AbsolutePathsAreTakenAsTheyAre) {
  WriteFile("base.textproto", "seed: 3");
  WriteFile("a.textproto", "base: '" + Path("base.textproto") + "'");
  EXPECT_EQ(Read(Path("a.textproto")), LineOf("seed: 3"));
}

TEST_F(ReaderTest, OverridesSetScalars) {
  EXPECT_EQ(Set("seed: 3", "seed=4"), LineOf("seed: 4"));
  EXPECT_EQ(Set("seed: 3", "rate=1e-3"), LineOf("seed: 3 rate: 1e-3"));
  EXPECT_EQ(Set("seed: 3", "seed=-4"), LineOf("seed: -4"));
  EXPECT_EQ(Set("seed: 3", "shuffle=false"), LineOf("seed: 3 shuffle: false"));
  EXPECT_EQ(Set("seed: 3", "task=REGRESSION"),
            LineOf("seed: 3 task: REGRESSION"));
}

TEST_F(ReaderTest, OverridesTakeStringsWithAndWithoutQuotes) {
  EXPECT_EQ(Set("seed: 3", "data_path=my data/fra=eng.txt"),
            LineOf("seed: 3 data_path: 'my data/fra=eng.txt'"));
  EXPECT_EQ(Set("seed: 3", "data_path=\"a\\tb\""),
            LineOf("seed: 3 data_path: 'a\\tb'"));
  EXPECT_EQ(Set("seed: 3", "data_path=C:\\new\u00e9"),
            LineOf("seed: 3 data_path: 'C:\\\\new\u00e9'"));
  EXPECT_EQ(Set("seed: 3", "data_path="), LineOf("seed: 3 data_path: ''"));
}

TEST_F(ReaderTest, OverridesReachIntoMessages) {
  EXPECT_EQ(Set("seed: 3", "model.dot.scale=2"),
            LineOf("seed: 3 model { dot { scale: 2 } }"));
  EXPECT_EQ(origins_.Find("model.dot.scale"), "--set");
  EXPECT_EQ(origins_.Find("model"), "--set");
}

TEST_F(ReaderTest, OverridesKeepTheOriginOfMessagesThatWereThere) {
  Set("\nmodel {}", "model.width=2");
  EXPECT_EQ(origins_.Find("model"), "set.textproto:2");
  EXPECT_EQ(origins_.Find("model.width"), "--set");
}

TEST_F(ReaderTest, OverridesSwitchOneofs) {
  EXPECT_EQ(Set("sgd { momentum: 0.5 }", "adam.beta1=0.5"),
            LineOf("adam { beta1: 0.5 }"));
  EXPECT_EQ(origins_.Find("sgd"), std::nullopt);
  EXPECT_EQ(origins_.Find("sgd.momentum"), std::nullopt);
  EXPECT_EQ(Set("sgd { momentum: 0.5 }", "adam={}"), LineOf("adam {}"));
  EXPECT_EQ(Set("sgd { momentum: 0.5 }", "other=none"),
            LineOf("other: 'none'"));
}

TEST_F(ReaderTest, OverridesMergeMessages) {
  EXPECT_EQ(Set("model { width: 8 dropout: 0 }",
                "model={ width: 16 dot { scale: 2 } }"),
            LineOf("model { width: 16 dropout: 0 dot { scale: 2 } }"));
  EXPECT_EQ(Set("model { width: 8 layers {} }", "model={ layers: [] }"),
            LineOf("model { width: 8 }"));
}

TEST_F(ReaderTest, OverridesReachElements) {
  const char* text = "model { layers { heads: 1 } layers { heads: 2 } }";
  EXPECT_EQ(Set(text, "model.layers[1].heads=8"),
            LineOf("model { layers { heads: 1 } layers { heads: 8 } }"));
  EXPECT_EQ(origins_.Find("model.layers[1].heads"), "--set");
  EXPECT_EQ(origins_.Find("model.layers[0].heads"), "set.textproto:1");
  EXPECT_EQ(Set(text, "model.layers[0]={ tree {} }"),
            LineOf("model { layers { heads: 1 tree {} } "
                   "layers { heads: 2 } }"));
  EXPECT_EQ(Set("sizes: [1, 2, 3]", "sizes[0]=9"), LineOf("sizes: [9, 2, 3]"));
  EXPECT_EQ(Set("names: ['a', 'b']", "names[1]=c d"),
            LineOf("names: ['a', 'c d']"));
}

TEST_F(ReaderTest, TheOnlyElementNeedsNoIndex) {
  EXPECT_EQ(Set("model { layers { heads: 1 } }", "model.layers.heads=8"),
            LineOf("model { layers { heads: 8 } }"));
  // A missing element must be created, like a missing message.
  EXPECT_EQ(Set("seed: 3", "model.layers.heads=8"),
            LineOf("seed: 3 model { layers { heads: 8 } }"));
  EXPECT_EQ(origins_.Find("model.layers[0].heads"), "--set");
}

TEST_F(ReaderTest, OverridesReplaceLists) {
  EXPECT_EQ(Set("sizes: [1, 2, 3]", "sizes=[9, 8]"), LineOf("sizes: [9, 8]"));
  EXPECT_EQ(origins_.Find("sizes[1]"), "--set");
  EXPECT_EQ(origins_.Find("sizes[2]"), std::nullopt);
  EXPECT_EQ(Set("sizes: [1, 2, 3]", "sizes=7"), LineOf("sizes: 7"));
  EXPECT_EQ(Set("sizes: [1, 2, 3]", "sizes=[]"), LineOf(""));
  EXPECT_EQ(Set("names: 'a'", "names=b"), LineOf("names: 'b'"));
  EXPECT_EQ(origins_.Find("names[0]"), "--set");
  EXPECT_EQ(Set("names: 'a'", "names=['b', 'c']"), LineOf("names: ['b', 'c']"));
}

TEST_F(ReaderTest, OverridesReachExtensions) {
  EXPECT_EQ(Set("seed: 3", "model.outside.[lab.my_score].width=8"),
            LineOf("seed: 3 model { outside { [lab.my_score] { "
                   "width: 8 } } }"));
  EXPECT_EQ(origins_.Find("model.outside.[lab.my_score].width"), "--set");
  EXPECT_EQ(Set("seed: 3", "model.outside.[lab.lags]=[1, 2]"),
            LineOf("seed: 3 model { outside { [lab.lags]: [1, 2] } }"));
}

TEST_F(ReaderTest, ElementsAfterAMessageComeFromTheirList) {
  WriteFile("a.textproto",
            "model {\n  layers: [\n    { heads: 1 },\n    {}\n  ]\n}");
  Read("a.textproto");
  EXPECT_EQ(origins_.Find("model.layers[1]"), "a.textproto:2");
}

TEST_F(ReaderTest, LaterOverridesWin) {
  WriteFile("a.textproto", "seed: 3");
  EXPECT_EQ(Read("a.textproto", {"seed=4", "seed=5"}), LineOf("seed: 5"));
}

TEST_F(ReaderTest, ReadsUpToTheCap) {
  const std::string largest(kMaxConfigBytes, '#');
  WriteFile("a.textproto", largest);
  EXPECT_EQ(Read("a.textproto"), "");
  TestConfig config;
  EXPECT_THAT(ReadConfig({"a.textproto", largest + "#"}, {}, &config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("a.textproto:1:1: error: has 1048577 bytes; "
                                  "a config may have at most 1048576\n")));
}

TEST_F(ReaderTest, TheBaseOfABrokenFileIsNotOpened) {
  WriteFile("a.textproto", "base: 'none.textproto'\nsed: 3\n");
  TestConfig config;
  EXPECT_THAT(ReadConfig({"a.textproto", std::nullopt}, {}, &config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("a.textproto:2:1: error: no field 'sed'")));
}

// After a wrong name, the reader must skip the value, whether it is on the line
// of the name or on later lines.
TEST_F(ReaderTest, TheValueOfAnUnknownFieldIsSkipped) {
  TestConfig config;
  const absl::StatusOr<ConfigOrigins> origins =
      ReadConfig({"a",
                  "data_pth: 'a'\n  'b'\n"
                  "modle\n{\n  width: x\n}\n"
                  "sizes: [1 2,\n  3]\n"
                  "rate 0.5\n"
                  "adam: -3\n"
                  "model: [\n  3]\n"
                  "seed: x\n"},
                 {}, &config);
  std::vector<std::string> problems;
  for (absl::string_view line :
       absl::StrSplit(origins.status().message(), '\n')) {
    if (!absl::StartsWith(line, " ")) problems.emplace_back(line);
  }
  EXPECT_THAT(
      problems,
      ElementsAre("a:1:1: error: no field 'data_pth' in TestConfig; did you "
                  "mean 'data_path'?",
                  "a:3:1: error: no field 'modle' in TestConfig; did you mean "
                  "'model'?",
                  "a:7:11: error: expected ',' or ']', got '2'",
                  "a:9:1: error: expected ':' and a number after 'rate'",
                  "a:10:7: error: 'adam' takes fields in braces (TestAdam), "
                  "got '-3'",
                  "a:11:8: error: 'model' takes fields in braces (TestModel), "
                  "got '['",
                  "a:13:7: error: 'seed' takes an integer, got 'x'"));
}

TEST_F(ReaderTest, OverridesAreUtf8) {
  TestConfig config;
  EXPECT_THAT(
      ReadConfig({"a.textproto", "seed: 3"}, {"data_path=caf\xE9"}, &config),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "--set: error: byte 0xE9: a config must be UTF-8\n"
               "  data_path=caf?\n"
               "               ^"));
}

TEST_F(ReaderTest, AllWrongOverridesAreReported) {
  TestConfig config;
  EXPECT_THAT(
      ReadConfig({"a.textproto", "seed: 3"},
                 {"seed=4", "sizes[0]=1", "model.layers[x]=1", "adam=rate 8"},
                 &config),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("--set: error: 'sizes' has 0 elements, "
                         "counted from 0\n  sizes[0]=1\n  ^~~~~~~~\n"
                         "--set: error: no field 'layers[x]' in "
                         "TestModel; did you mean 'layers'?\n"
                         "  model.layers[x]=1\n        ^~~~~~~~~\n"
                         "--set: error: 'adam' takes fields in braces "
                         "(TestAdam); write {rate 8}\n"
                         "  adam=rate 8\n       ^~~~")));
}

// third_party/protobuf/protoc.sh must remove this include from generated
// headers.
TEST(GeneratedHeaderTest, DoesNotIncludeTheFieldOptions) {
#ifdef GOOGLE_PROTOBUF_INCLUDED_options_2fconfig_5foptions_2eproto
  FAIL() << "options/config_options.pb.h is included";
#endif
}

}  // namespace
}  // namespace regard
