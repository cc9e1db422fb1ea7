#include "options/command_line.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "options/test_config.pb.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program with a flag of each kind, and the values that the flags received.
struct Program {
  std::string run;
  std::vector<std::string> overrides;
  std::vector<std::string> words;
  int beam = 5;
  testing::TestConfig config;
  bool sample = false;

  absl::Status Parse(std::vector<std::string> arguments,
                     bool takes_words = true) {
    CommandLine line("Says what it was given.");
    line.Text("run", "DIR", &run, "the run folder");
    line.Repeated("set", "PATH=VALUE", &overrides, "changes a field");
    line.Number("beam", &beam, 1, 64, "hypotheses");
    line.Field("rate", &config, 0, 1, "probability");
    line.Field("steps", &config, 1, 10000000, "updates");
    line.Switch("sample", &sample, "draws");
    line.RemovedFlag("width", "--beam=N");
    if (takes_words) line.Positional(&words, "WORD");
    std::string name = "program";
    std::vector<char*> argv = {name.data()};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    return line.Parse(static_cast<int>(argv.size()), argv.data());
  }
};

std::string RefusalOf(std::vector<std::string> arguments,
                      bool takes_words = true) {
  Program program;
  const absl::Status status = program.Parse(std::move(arguments), takes_words);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(CommandLineTest, ReadsEachKindOfFlag) {
  Program program;
  ASSERT_TRUE(
      program
          .Parse({"a", "--run=r", "--set", "x=1", "--set=y=2", "--beam=64",
                  "--rate", "0.3", "--steps=10000000", "--sample", "b"})
          .ok());
  EXPECT_EQ(program.run, "r");
  EXPECT_THAT(program.overrides, ElementsAre("x=1", "y=2"));
  EXPECT_EQ(program.beam, 64);
  EXPECT_EQ(program.config.rate(), 0.3f);
  EXPECT_EQ(program.config.steps(), 10000000u);
  EXPECT_TRUE(program.sample);
  EXPECT_THAT(program.words, ElementsAre("a", "b"));
}

// Parse() must open standard input, the only closed stream, and no other
// stream.
TEST(CommandLineTest, OpensStandardStreamsAndNothingElse) {
  const int next = dup(STDIN_FILENO);
  close(next);
  close(STDIN_FILENO);
  ASSERT_TRUE(Program().Parse({}).ok());
  const int opened = dup(STDIN_FILENO);
  EXPECT_EQ(opened, next);
  close(opened);
}

TEST(CommandLineTest, KeepsDefaults) {
  Program program;
  ASSERT_TRUE(program.Parse({}).ok());
  EXPECT_EQ(program.beam, 5);
  EXPECT_FALSE(program.config.has_rate());
  EXPECT_THAT(program.words, IsEmpty());
}

TEST(CommandLineTest, AWordDoesNotBeginWithADash) {
  EXPECT_EQ(RefusalOf({"-b"}),
            "error: '-b' is not a flag; see --help, and write -- before a WORD "
            "that begins with '-'");
  EXPECT_EQ(RefusalOf({"-b"}, /*takes_words=*/false),
            "error: '-b' is not a flag; see --help");
  Program program;
  ASSERT_TRUE(program.Parse({"-", "-1", "-.5", "--", "-h", "--", "-b"}).ok());
  EXPECT_THAT(program.words, ElementsAre("-", "-1", "-.5", "-h", "--", "-b"));
}

TEST(CommandLineTest, RejectsUnknownArguments) {
  EXPECT_THAT(RefusalOf({"--baem=1"}),
              HasSubstr("there is no flag --baem; did you mean 'beam'?"));
  EXPECT_THAT(RefusalOf({"--beam=0"}), HasSubstr("from 1 to 64, got '0'"));
  EXPECT_THAT(RefusalOf({"--beam=1.5"}), HasSubstr("a whole number"));
  EXPECT_THAT(RefusalOf({"--rate=nan"}), HasSubstr("a number from 0 to 1"));
  EXPECT_THAT(RefusalOf({"--steps=0"}),
              HasSubstr("a whole number from 1 to 10000000, got '0'"));
  EXPECT_THAT(RefusalOf({"--run="}),
              HasSubstr("--run requires a non-empty string, got ''"));
  EXPECT_THAT(RefusalOf({"--run"}), HasSubstr("--run requires a value"));
  EXPECT_THAT(RefusalOf({"--beam=1", "--beam=1"}), HasSubstr("given twice"));
  EXPECT_THAT(RefusalOf({"--sample=1"}), HasSubstr("takes no value"));
}

TEST(CommandLineTest, NamesTheReplacementOfAFormerFlag) {
  EXPECT_THAT(RefusalOf({"--width=3"}),
              HasSubstr("there is no flag --width any more; write --beam=N"));
}

TEST(CommandLineTest, HelpNamesTheKindOfEachValue) {
  const std::string help =
      "Says what it was given.\n\n"
      "  --run=DIR             the run folder\n"
      "  --set PATH=VALUE      changes a field\n"
      "  --beam=N              hypotheses (default: 5)\n"
      "  --rate=X              probability (default: 0.001)\n"
      "  --steps=N             updates\n"
      "  --sample              draws\n";
  for (const char* flag : {"--help", "-h"}) {
    for (const bool takes_words : {false, true}) {
      const absl::Status status = Program().Parse({flag, "-b"}, takes_words);
      EXPECT_EQ(status, absl::CancelledError(help)) << flag << takes_words;
    }
  }
}

TEST(CommandLineTest, EveryProgramPrintsItsVersion) {
  EXPECT_EQ(Program().Parse({"--version", "-b"}, /*takes_words=*/false),
            absl::CancelledError(kVersion));
}

// The message quotes a label with terminal control sequences, which must not be
// printed.
TEST(ExitCodeTest, PrintsNoControlCharacters) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(
      ExitCode(absl::InvalidArgumentError(
          "f:1:1: error: label '\x1b[31mr\u00e9d\r\x07\u202e'\n\tin f\n")),
      kExitWrongInput);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "f:1:1: error: label '[31mr\u00e9d'\n\tin f\n");
}

}  // namespace
}  // namespace regard
