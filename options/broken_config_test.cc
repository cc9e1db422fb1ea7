// Tests broken and hostile configs, with the exact messages that users see.
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "files/testing/temporary_files.h"
#include "gmock/gmock.h"
#include "google/protobuf/message.h"
#include "gtest/gtest.h"
#include "options/reader.h"
#include "options/test_config.pb.h"
#include "options/test_extension.pb.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class BrokenConfigTest : public testing::TemporaryFilesTest {
 protected:
  // Makes the extension lab.MyScore known to the parser.
  BrokenConfigTest() {
    google::protobuf::LinkMessageReflection<lab::MyScore>();
  }

  // Returns the message that the user sees, or "" if there is no error.
  static std::string ErrorOf(const std::string& name,
                             const std::vector<std::string>& overrides = {}) {
    testing::TestConfig config;
    const absl::StatusOr<ConfigOrigins> origins =
        ReadConfig({name, std::nullopt}, overrides, &config);
    if (!origins.ok()) {
      EXPECT_TRUE(absl::IsInvalidArgument(origins.status()));
    }
    return std::string(origins.status().message());
  }

  std::string ErrorIn(absl::string_view text) const {
    WriteFile("a.textproto", text);
    return ErrorOf("a.textproto");
  }
};

TEST_F(BrokenConfigTest, UnknownFieldHasANearName) {
  EXPECT_EQ(ErrorIn("seed: 3\n  modle { width: 8 }\n"),
            "a.textproto:2:3: error: no field 'modle' in TestConfig; did you "
            "mean 'model'?\n"
            "    modle { width: 8 }\n"
            "    ^~~~~");
}

TEST_F(BrokenConfigTest, UnknownFieldInsideAMessage) {
  EXPECT_EQ(ErrorIn("model {\n  layers { head: 8 }\n}\n"),
            "a.textproto:2:12: error: no field 'head' in TestLayer; did you "
            "mean 'heads'?\n"
            "    layers { head: 8 }\n"
            "             ^~~~");
}

TEST_F(BrokenConfigTest, UnlikeNamesAreListedWhenFew) {
  EXPECT_EQ(ErrorIn("model { layers { xyzzy: 8 } }"),
            "a.textproto:1:18: error: no field 'xyzzy' in TestLayer; it can be "
            "heads, tree\n"
            "  model { layers { xyzzy: 8 } }\n"
            "                   ^~~~~");
}

TEST_F(BrokenConfigTest, MisspeltEnumIsOnItsOwnLine) {
  EXPECT_EQ(ErrorIn("task: TRANSLATOIN\nseed: 3\n"),
            "a.textproto:1:7: error: 'TRANSLATOIN' is not a value of Task; did "
            "you mean 'TRANSLATION'?\n"
            "  task: TRANSLATOIN\n"
            "        ^~~~~~~~~~~");
}

TEST_F(BrokenConfigTest, EnumInLowerCaseAndByNumber) {
  EXPECT_THAT(ErrorIn("task: regression"),
              StartsWith("a.textproto:1:7: error: 'regression' is not a value "
                         "of Task; did you mean 'REGRESSION'?\n"));
  EXPECT_THAT(ErrorIn("task: 1"),
              StartsWith("a.textproto:1:7: error: '1' is not a value of Task; "
                         "it can be TRANSLATION, REGRESSION\n"));
  EXPECT_THAT(ErrorIn("task: TASK_UNSPECIFIED"),
              StartsWith("a.textproto:1:7: error: 'TASK_UNSPECIFIED' is not a "
                         "value of Task; it can be TRANSLATION, REGRESSION\n"));
}

TEST_F(BrokenConfigTest, WrongTypes) {
  EXPECT_EQ(ErrorIn("seed: \"three\"\nrate: fast\nshuffle: yes\n"
                    "data_path: fra.txt\nmodel: 3\ntolerance { }\n"
                    "sizes: 0.5\nsteps: -1\n"),
            "a.textproto:1:7: error: 'seed' takes an integer, got \"three\"\n"
            "  seed: \"three\"\n"
            "        ^~~~~~~\n"
            "a.textproto:2:7: error: 'rate' takes a number, got 'fast'\n"
            "  rate: fast\n"
            "        ^~~~\n"
            "a.textproto:3:10: error: 'shuffle' takes true or false, got "
            "'yes'\n"
            "  shuffle: yes\n"
            "           ^~~\n"
            "a.textproto:4:12: error: 'data_path' takes a string in quotes, "
            "got 'fra.txt'\n"
            "  data_path: fra.txt\n"
            "             ^~~~~~~\n"
            "a.textproto:5:8: error: 'model' takes fields in braces "
            "(TestModel), got '3'\n"
            "  model: 3\n"
            "         ^\n"
            "a.textproto:6:11: error: 'tolerance' takes a number, got '{'\n"
            "  tolerance { }\n"
            "            ^\n"
            "a.textproto:7:8: error: 'sizes' takes an integer, got '0.5'\n"
            "  sizes: 0.5\n"
            "         ^~~\n"
            "a.textproto:8:8: error: 'steps' cannot be negative, got '-1'\n"
            "  steps: -1\n"
            "         ^~");
}

TEST_F(BrokenConfigTest, DuplicateScalar) {
  EXPECT_EQ(ErrorIn("seed: 3\nrate: 0.5\nseed: 4\n"),
            "a.textproto:3:1: error: 'seed' is set twice; first on line 1\n"
            "  seed: 4\n"
            "  ^~~~");
}

TEST_F(BrokenConfigTest, TwoMembersOfAOneof) {
  EXPECT_EQ(ErrorIn("sgd {}\nadam {}\n"),
            "a.textproto:2:1: error: 'adam' and 'sgd' (line 1) cannot both be "
            "set: only one optimizer can be set\n"
            "  adam {}\n"
            "  ^~~~");
}

TEST_F(BrokenConfigTest, TheNameOfAOneofIsNotAField) {
  EXPECT_THAT(ErrorIn("optimizer { sgd {} }\nseed: 3"),
              StartsWith("a.textproto:1:1: error: 'optimizer' is a choice, not "
                         "a field; write one of sgd, adam, other\n"));
}

TEST_F(BrokenConfigTest, IntegersOutOfRange) {
  EXPECT_THAT(ErrorIn("seed: 2147483648"),
              StartsWith("a.textproto:1:7: error: '2147483648' is outside "
                         "int32, at most 2147483647\n"));
  EXPECT_THAT(ErrorIn("seed: -2147483649"),
              StartsWith("a.textproto:1:7: error: '-2147483649' is outside "
                         "int32, at least -2147483648\n"));
  EXPECT_THAT(ErrorIn("steps: 99999999999999999999999"),
              StartsWith("a.textproto:1:8: error: '99999999999999999999999' is "
                         "outside uint32, at most 4294967295\n"));
  EXPECT_EQ(ErrorIn("seed: -2147483648 steps: 4294967295 large: "
                    "-9223372036854775808"),
            "");
}

TEST_F(BrokenConfigTest, OctalIsRefused) {
  EXPECT_THAT(ErrorIn("seed: 010"),
              StartsWith("a.textproto:1:7: error: '010' begins with 0, which "
                         "would make it octal\n"));
  EXPECT_THAT(ErrorIn("rate: 010"),
              StartsWith("a.textproto:1:7: error: '010'"));
  EXPECT_THAT(ErrorIn("rate: 07.25"),
              StartsWith("a.textproto:1:7: error: '07.25' begins with 0"));
  EXPECT_EQ(ErrorIn("seed: 0 rate: 0.5 sizes: 0x10"), "");
}

TEST_F(BrokenConfigTest, NumbersMustBeFinite) {
  EXPECT_THAT(ErrorIn("rate: nan"),
              StartsWith("a.textproto:1:7: error: 'rate' must be a finite "
                         "number, got 'nan'\n"));
  EXPECT_THAT(ErrorIn("rate: -inf"),
              StartsWith("a.textproto:1:7: error: 'rate' must be a finite "
                         "number, got '-inf'\n"));
  EXPECT_THAT(ErrorIn("rate: 1e39"),
              StartsWith("a.textproto:1:7: error: '1e39' is too large for a "
                         "float\n"));
  EXPECT_THAT(ErrorIn("tolerance: 1e400"),
              StartsWith("a.textproto:1:12: error: '1e400' is too large for a "
                         "double\n"));
  EXPECT_THAT(ErrorIn("tolerance: 1e-400"),
              StartsWith("a.textproto:1:12: error: '1e-400' is too small for a "
                         "double and would be 0\n"));
  EXPECT_EQ(ErrorIn("rate: 1e38 tolerance: 1e300 model { dropout: .5f }"), "");
}

TEST_F(BrokenConfigTest, MissingValueIsReportedAtTheName) {
  EXPECT_EQ(ErrorIn("rate:\nseed: 3\n"),
            "a.textproto:1:1: error: 'rate' has no value: it takes a number\n"
            "  rate:\n"
            "  ^~~~");
  EXPECT_THAT(ErrorIn("seed 3\nrate: 1\n"),
              StartsWith("a.textproto:1:1: error: expected ':' and an integer "
                         "after 'seed'\n"));
}

TEST_F(BrokenConfigTest, UnterminatedMessageIsReportedAtItsBeginning) {
  EXPECT_EQ(ErrorIn("seed: 3\nmodel {\n  width: 8\n"),
            "a.textproto:2:7: error: this '{' has no closing bracket\n"
            "  model {\n"
            "        ^");
  EXPECT_THAT(ErrorIn("seed: 3\n}\n"),
              StartsWith("a.textproto:2:1: error: there is no open message to "
                         "close\n"));
}

TEST_F(BrokenConfigTest, Strings) {
  EXPECT_EQ(ErrorIn("data_path: \"fra.txt\nseed: x\n"),
            "a.textproto:1:12: error: the string has no closing quote\n"
            "  data_path: \"fra.txt\n"
            "             ^~~~~~~~\n"
            "a.textproto:2:7: error: 'seed' takes an integer, got 'x'\n"
            "  seed: x\n"
            "        ^");
  EXPECT_THAT(ErrorIn("data_path: \"a\\q\""),
              StartsWith("a.textproto:1:14: error: unknown escape '\\q' in a "
                         "string"));
  EXPECT_THAT(ErrorIn("data_path: \"\\xff\""),
              StartsWith("a.textproto:1:12: error: the value of 'data_path' is "
                         "not valid UTF-8\n"));
  EXPECT_EQ(ErrorIn("raw: \"\\xff\" data_path: 'a' \"\\u00e9\""), "");
}

TEST_F(BrokenConfigTest, RemovedField) {
  EXPECT_THAT(ErrorIn("momentum: 3"),
              StartsWith("a.textproto:1:1: error: 'momentum' is no longer a "
                         "field of TestConfig\n"));
}

TEST_F(BrokenConfigTest, UnknownExtension) {
  EXPECT_EQ(ErrorIn("model { outside { [lab.my_scor] { width: 8 } } }"),
            "a.textproto:1:19: error: no extension '[lab.my_scor]' of "
            "TestOutside is linked in; did you mean '[lab.my_score]'?\n"
            "  model { outside { [lab.my_scor] { width: 8 } } }\n"
            "                    ^~~~~~~~~~~~~");
}

TEST_F(BrokenConfigTest, AnExtensionNameHasOneWord) {
  EXPECT_THAT(ErrorIn("model { outside { [lab.my _score] { width: 8 } } }"),
              StartsWith("a.textproto:1:19: error: expected the name of a "
                         "field, got '['\n"));
  EXPECT_EQ(ErrorIn("model { outside { [ lab . my_score ] { width: 8 } } }"),
            "");
}

TEST_F(BrokenConfigTest, AllProblemsComeAtOnceInOrder) {
  const std::string error = ErrorIn(
      "sed: 3\nmodel {\n  width: wide\n  layers { heads: 1.5 }\n  dot { scal: "
      "1 }\n}\ntask: REGRESION\n");
  EXPECT_THAT(error, HasSubstr("a.textproto:1:1: error: no field 'sed'"));
  EXPECT_THAT(error, HasSubstr("\na.textproto:3:10: error: 'width' takes"));
  EXPECT_THAT(error, HasSubstr("\na.textproto:4:19: error: 'heads' takes"));
  EXPECT_THAT(error, HasSubstr("\na.textproto:5:9: error: no field 'scal'"));
  EXPECT_THAT(error, HasSubstr("\na.textproto:7:7: error: 'REGRESION' is no"));
}

TEST_F(BrokenConfigTest, StopsAfterTwentyProblems) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "nothing: 1\n";
  const std::string error = ErrorIn(text);
  EXPECT_THAT(error, HasSubstr("a.textproto:20:1: error:"));
  EXPECT_THAT(error, Not(HasSubstr("a.textproto:21:1: error:")));
  EXPECT_THAT(error, HasSubstr("the first 20 problems are shown"));
}

TEST_F(BrokenConfigTest, ColumnsCountCharactersNotBytesOrTabStops) {
  EXPECT_EQ(ErrorIn("\tdata_path: \"\u00e9t\u00e9\" sed: 3\n"),
            "a.textproto:1:19: error: no field 'sed' in TestConfig; did you "
            "mean 'seed'?\n"
            "   data_path: \"\u00e9t\u00e9\" sed: 3\n"
            "                    ^~~");
}

TEST_F(BrokenConfigTest, LongLinesAreCutAroundTheCaret) {
  const std::string error = ErrorIn(
      absl::StrCat("names: [\"", std::string(5000, 'x'), "\"] sed: 3 names: \"",
                   std::string(5000, 'y'), "\""));
  EXPECT_EQ(error, absl::StrCat("a.textproto:1:5013: error: no field 'sed' in "
                                "TestConfig; did you mean 'seed'?\n  ...",
                                std::string(57, 'x'), "\"] sed: 3 names: \"",
                                std::string(25, 'y'), "...\n  ",
                                std::string(63, ' '), "^~~"));
}

TEST_F(BrokenConfigTest, ControlCharactersAreNotEchoed) {
  const std::string error = ErrorIn("sed: \"\x1b[31m\u202e\"  # \x07\r\n");
  EXPECT_EQ(error,
            "a.textproto:1:1: error: no field 'sed' in TestConfig; did you "
            "mean 'seed'?\n"
            "  sed: \"?[31m?\"  # ?\n"
            "  ^~~");
}

TEST_F(BrokenConfigTest, MissingFile) {
  EXPECT_EQ(ErrorOf("none.textproto"),
            "none.textproto: error: cannot open: No such file or directory");
}

TEST_F(BrokenConfigTest, MissingBaseIsToldAtItsLine) {
  WriteFile("configs/a.textproto", "seed: 3\nbase: \"none.textproto\"\n");
  EXPECT_EQ(
      ErrorOf("configs/a.textproto"),
      "configs/a.textproto:2:1: error: base 'none.textproto' cannot open: "
      "No such file or directory\n"
      "  base: \"none.textproto\"\n"
      "  ^~~~");
}

TEST_F(BrokenConfigTest, CyclicBaseIsToldAtItsLine) {
  WriteFile("configs/a.textproto", "base: 'b.textproto'");
  WriteFile("configs/b.textproto", "seed: 3\nbase: '../configs/a.textproto'");
  EXPECT_EQ(ErrorOf("configs/a.textproto"),
            "configs/b.textproto:2:1: error: base '../configs/a.textproto' "
            "forms a cycle: configs/a.textproto -> configs/b.textproto -> "
            "configs/../configs/a.textproto\n"
            "  base: '../configs/a.textproto'\n"
            "  ^~~~");
}

TEST_F(BrokenConfigTest, BaseOfItself) {
  EXPECT_THAT(ErrorIn("base: 'a.textproto'"),
              StartsWith("a.textproto:1:1: error: base 'a.textproto' forms "
                         "a cycle: a.textproto -> a.textproto\n"));
}

TEST_F(BrokenConfigTest, TooManyBases) {
  for (int i = 0; i < 20; ++i) {
    WriteFile(absl::StrCat(i), absl::StrCat("base: '", i + 1, "'"));
  }
  EXPECT_THAT(ErrorOf("0"),
              StartsWith("16:1:1: error: base '17' exceeds the limit of 16"));
}

TEST_F(BrokenConfigTest, ProblemsOfABaseAreInTheBase) {
  WriteFile("a.textproto", "base: 'b.textproto'");
  WriteFile("b.textproto", "\nsed: 3");
  EXPECT_THAT(ErrorOf("a.textproto"),
              StartsWith("b.textproto:2:1: error: no field 'sed'"));
}

TEST_F(BrokenConfigTest, Directory) {
  WriteFile("configs/a.textproto", "");
  EXPECT_EQ(ErrorOf("configs"), "configs: error: is a directory, not a file");
}

TEST_F(BrokenConfigTest, UnreadableFile) {
  WriteFile("a.textproto", "seed: 3");
  chmod(Path("a.textproto").c_str(), 0);
  const testing::WithoutFileCapabilities as_anyone;
  testing::TestConfig config;
  EXPECT_EQ(ReadConfig({"a.textproto", std::nullopt}, {}, &config).status(),
            absl::PermissionDeniedError(
                "a.textproto: error: cannot open: Permission denied"));
}

TEST_F(BrokenConfigTest, PipeWithoutAWriterDoesNotBlock) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf("pipe"), "pipe: error: is not a regular file");
}

TEST_F(BrokenConfigTest, DeviceIsNotRead) {
  EXPECT_EQ(ErrorOf("/dev/zero"), "/dev/zero: error: is not a regular file");
}

TEST_F(BrokenConfigTest, RejectsAHugeFileWithoutReadingIt) {
  WriteFile("a.textproto", "seed: 3");
  std::filesystem::resize_file(Path("a.textproto"), int64_t{1} << 30);
  EXPECT_EQ(ErrorOf("a.textproto"),
            "a.textproto: error: has 1073741824 bytes; at most 1048576 are "
            "allowed");
}

TEST_F(BrokenConfigTest, EmptyFile) {
  EXPECT_THAT(ErrorIn(""),
              StartsWith("a.textproto:1:1: error: the config is empty\n"));
}

TEST_F(BrokenConfigTest, AConfigMayHaveOnlyComments) {
  EXPECT_EQ(ErrorIn("# all defaults\n"), "");
}

TEST_F(BrokenConfigTest, NulByte) {
  EXPECT_EQ(ErrorIn(absl::string_view("seed: 3\nra\0te: 1", 16)),
            "a.textproto:2:3: error: a config must not contain NUL bytes\n"
            "  ra?te: 1\n"
            "    ^");
}

TEST_F(BrokenConfigTest, ByteOrderMark) {
  EXPECT_THAT(ErrorIn("\xEF\xBB\xBFseed: 3"),
              StartsWith("a.textproto:1:1: error: the file begins with a byte "
                         "order mark (BOM)"));
}

TEST_F(BrokenConfigTest, InvalidUtf8) {
  EXPECT_EQ(ErrorIn("data_path: \"caf\xE9\""),
            "a.textproto:1:16: error: byte 0xE9: a config must be UTF-8\n"
            "  data_path: \"caf?\"\n"
            "                 ^");
}

TEST_F(BrokenConfigTest, RandomBytes) {
  std::string bytes;
  uint32_t state = 1;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 1664525 + 1013904223;
    bytes += static_cast<char>(state >> 24);
  }
  EXPECT_THAT(ErrorIn(bytes), StartsWith("a.textproto:1:"));
}

TEST_F(BrokenConfigTest, NestingBomb) {
  std::string text = "tree {";
  for (int i = 0; i < 100'000; ++i) text += "child{";
  EXPECT_THAT(ErrorIn(text), HasSubstr("a.textproto:1:390: error: messages can "
                                       "be nested at most 64 levels\n"));
  text += std::string(100'001, '}');
  EXPECT_THAT(ErrorIn(text), StartsWith("a.textproto:1:390: error: messages "
                                        "can be nested at most 64 levels\n"));
}

TEST_F(BrokenConfigTest, NestingBombInAnUnknownField) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "x[{<";
  EXPECT_THAT(ErrorIn(text),
              StartsWith("a.textproto:1:1: error: no field 'x'"));
}

TEST_F(BrokenConfigTest, ExtensionOfEndlessName) {
  std::string name;
  for (int i = 0; i < 500'000; ++i) name += "a.";
  EXPECT_THAT(ErrorIn("model { outside { [" + name + "] { } } }"),
              StartsWith("a.textproto:1:19: error: no extension '[a.a.a."));
}

TEST_F(BrokenConfigTest, SixtyFourLevelsAreRead) {
  std::string text = "tree {";
  for (int i = 0; i < 63; ++i) text += "child{";
  EXPECT_EQ(ErrorIn(text + "leaf: 1" + std::string(64, '}')), "");
}

TEST_F(BrokenConfigTest, MissingRequiredFieldIsToldAtItsMessage) {
  EXPECT_EQ(ErrorIn("seed: 3\nrequired { }"),
            "a.textproto:2:1: error: required.must: must be set\n"
            "  required { }\n"
            "  ^~~~~~~~");
}

TEST_F(BrokenConfigTest, OverridesPointIntoTheArgument) {
  WriteFile("a.textproto", "seed: 3\nmodel { layers {} layers {} }");
  EXPECT_EQ(ErrorOf("a.textproto",
                    {"model.widht=8", "model.layers[2].heads=2", "seed=x",
                     "seed.x=1", "model", "model.layers.heads=1",
                     "task=TRANSLATON", "seed=1 2", "base=b.textproto"}),
            "--set: error: no field 'widht' in TestModel; did you mean "
            "'width'?\n"
            "  model.widht=8\n"
            "        ^~~~~\n"
            "--set: error: 'layers' has 2 elements, counted from 0\n"
            "  model.layers[2].heads=2\n"
            "        ^~~~~~~~~\n"
            "--set: error: 'seed' takes an integer, got 'x'\n"
            "  seed=x\n"
            "       ^\n"
            "--set: error: 'seed' takes an integer and has no fields\n"
            "  seed.x=1\n"
            "  ^~~~\n"
            "--set: error: expected path=value\n"
            "  model\n"
            "  ^~~~~\n"
            "--set: error: 'layers' has 2 elements: write layers[0] for the "
            "first\n"
            "  model.layers.heads=1\n"
            "        ^~~~~~\n"
            "--set: error: 'TRANSLATON' is not a value of Task; did you mean "
            "'TRANSLATION'?\n"
            "  task=TRANSLATON\n"
            "       ^~~~~~~~~~\n"
            "--set: error: nothing may follow the value, got '2'\n"
            "  seed=1 2\n"
            "         ^\n"
            "--set: error: an override cannot set `base`; set `base` in a "
            "file, and give that file as the config\n"
            "  base=b.textproto\n"
            "  ^~~~");
}

}  // namespace
}  // namespace regard
