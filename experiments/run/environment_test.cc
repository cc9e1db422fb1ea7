#include "experiments/run/environment.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "files/file.h"
#include "files/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

TEST(EnvironmentTest, TextIsAsDocumented) {
  EXPECT_EQ(EnvironmentJson({.compiler = "GCC \"12\"",
                             .c_library = "glibc 2.36",
                             .instruction_set = "x86-64-v3",
                             .mode = "opt",
                             .libraries = {{"b", "2"}, {"a", "1"}},
                             .data = {},
                             .files = {{"vocabulary.txt", "00ff"}}}),
            std::string("{\n  \"version\": \"") + kVersion +
                "\",\n"
                "  \"compiler\": \"GCC \\\"12\\\"\",\n"
                "  \"c_library\": \"glibc 2.36\",\n"
                "  \"instruction_set\": \"x86-64-v3\",\n"
                "  \"mode\": \"opt\",\n"
                "  \"libraries\": {\n"
                "    \"a\": \"1\",\n"
                "    \"b\": \"2\"\n"
                "  },\n"
                "  \"data\": {},\n"
                "  \"files\": {\n"
                "    \"vocabulary.txt\": \"00ff\"\n"
                "  }\n"
                "}\n");
}

TEST(EnvironmentTest, SaysWhereARunComesFromIfAsked) {
  const auto json = [](const Provenance& provenance) {
    return nlohmann::json::parse(EnvironmentJson({.provenance = provenance}));
  };
  EXPECT_FALSE(json({.tree = {"39ed", true}}).contains("commit"));
  const nlohmann::json outside = json({.command_line = {"--set", "seed=3"}});
  EXPECT_EQ(outside["command_line"], nlohmann::json({"--set", "seed=3"}));
  EXPECT_FALSE(outside.contains("commit") || outside.contains("changed"));
  EXPECT_EQ(json({.compute_digest = "cc"})["compute_digest"], "cc");
  const nlohmann::json inside =
      json({.tree = {"39ed", true}, .command_line = {"--resume"}});
  EXPECT_EQ(inside["commit"], "39ed");
  EXPECT_EQ(inside["changed"], true);
}

TEST(EnvironmentTest, ReadsNothingWithoutAWorkTree) {
  char program[] = "train";
  char flag[] = "--resume";
  char* arguments[] = {program, flag};
  const std::string folder = JoinPath(::testing::TempDir(), "it's no tree");
  ASSERT_EQ(setenv("BUILD_WORKSPACE_DIRECTORY", folder.c_str(), 1), 0);
  const Provenance provenance = ReadProvenance(2, arguments);
  EXPECT_EQ(provenance.tree.commit, "");
  EXPECT_FALSE(provenance.tree.changed);
  EXPECT_EQ(provenance.command_line, std::vector<std::string>{"--resume"});
  unsetenv("BUILD_WORKSPACE_DIRECTORY");
  EXPECT_TRUE(ReadProvenance(0, nullptr).command_line.empty());
}

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() : path_(JoinPath(::testing::TempDir(), "environment.json")) {}

  void Write(const nlohmann::json& json) const {
    ASSERT_THAT(WriteFileAtomically(path_, json.dump()), IsOk());
  }
  nlohmann::json Read() const {
    return nlohmann::json::parse(ReadFile(path_).value());
  }
  // Returns the first and the last step of each process, or -1 for a missing
  // step.
  std::vector<std::pair<int, int>> FoundSteps() const {
    std::vector<std::pair<int, int>> steps;
    const nlohmann::json environment = Read();
    for (const nlohmann::json& process : environment["processes"]) {
      steps.emplace_back(process["from_step"], process.value("to_step", -1));
    }
    return steps;
  }
  void Begin(int64_t step) const {
    EXPECT_THAT(RecordProcessStart(::testing::TempDir(), step, {}).value(),
                ::testing::IsEmpty());
  }
  void End(int64_t step) const {
    EXPECT_THAT(RecordProcessEnd(::testing::TempDir(), step), IsOk());
  }

  const std::string path_;
};

using Steps = std::vector<std::pair<int, int>>;

TEST_F(ProcessesTest, EachHasTheStepsThatItTrained) {
  ASSERT_THAT(WriteFileAtomically(path_, EnvironmentJson(BuildEnvironment())),
              IsOk());
  Begin(0);
  EXPECT_EQ(FoundSteps(), (Steps{{0, -1}}));
  End(5);
  // The second process is killed after it has saved the checkpoint of step 7.
  // The third is killed before it saves one.
  Begin(5);
  Begin(7);
  Begin(7);
  End(9);
  EXPECT_EQ(FoundSteps(), (Steps{{0, 5}, {5, 7}, {7, 9}}));
  const nlohmann::json process = Read()["processes"][2];
  EXPECT_EQ(process["compiler"], BuildEnvironment().compiler);
  EXPECT_TRUE(process.contains("version") && process.contains("c_library") &&
              process.contains("instruction_set"));
  EXPECT_EQ(process["libraries"]["eigen"],
            BuildEnvironment().libraries.at("eigen"));
}

TEST_F(ProcessesTest, AnEarlierProgramsRunGetsAnEntryForItsFirst) {
  Write({{"compiler", "GCC 4"},
         {"libraries", {{"eigen", "3.3.0"}}},
         {"data", {{"data.path", "00ff"}}}});
  const auto differences = RecordProcessStart(::testing::TempDir(), 3, {});
  ASSERT_THAT(differences, IsOk());
  EXPECT_THAT(*differences,
              ::testing::ElementsAre(StartsWith("compiler: GCC 4 before, GCC "),
                                     StartsWith("eigen: 3.3.0 before, 3.")));
  EXPECT_EQ(FoundSteps(), (Steps{{0, 3}, {3, -1}}));
  EXPECT_EQ(Read()["processes"][0]["compiler"], "GCC 4");
  // The top-level keys must still describe the first process.
  EXPECT_EQ(Read()["compiler"], "GCC 4");
  EXPECT_EQ(Read()["data"]["data.path"], "00ff");
  EXPECT_EQ(*ProgramDifferences(::testing::TempDir()), *differences);
}

TEST_F(ProcessesTest, AFileWithoutAnObjectIsAnError) {
  Write({1, 2});
  const auto wrong = StatusIs(absl::StatusCode::kInvalidArgument,
                              HasSubstr("must be a JSON object"));
  EXPECT_THAT(RecordProcessStart(::testing::TempDir(), 0, {}), wrong);
  EXPECT_THAT(RecordProcessEnd(::testing::TempDir(), 0), wrong);
}

class DigestsTest : public ::testing::Test {
 protected:
  static void Write(const std::string& environment) {
    ASSERT_THAT(
        WriteFileAtomically(JoinPath(::testing::TempDir(), "environment.json"),
                            environment),
        IsOk());
  }
};

TEST_F(DigestsTest, AreReadAgain) {
  Environment environment = BuildEnvironment();
  environment.data = {{"data.path", "00ff"}, {"a \"b\"", "1"}};
  environment.files = {{"vocabulary.txt", "1f"}};
  Write(EnvironmentJson(environment));
  const auto digests = ReadRunDigests(::testing::TempDir());
  ASSERT_THAT(digests, IsOk());
  EXPECT_EQ(digests->data, environment.data);
  EXPECT_EQ(digests->files, environment.files);
  Write("{\"data\": {}}");
  EXPECT_THAT(ReadRunDigests(::testing::TempDir()), IsOk());
  for (const char* text :
       {"", "[]", "{}", "{\"data\": 1}", "{\"data\": {\"a\": 1}}",
        "{\"data\": {}", "{\"data\": {}, \"files\": []}"}) {
    Write(text);
    EXPECT_THAT(ReadRunDigests(::testing::TempDir()).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("environment.json:1:")))
        << text;
  }
}

TEST_F(DigestsTest, ShowWhetherAFileHasChanged) {
  Write(EnvironmentJson({.files = {{"a.txt", Sha256Hex("abc")}}}));
  EXPECT_THAT(CheckRunFile(::testing::TempDir(), "a.txt", "abc"), IsOk());
  EXPECT_THAT(CheckRunFile(::testing::TempDir(), "unknown.txt", "abd"), IsOk());
  EXPECT_THAT(CheckRunFile(::testing::TempDir(), "a.txt", "abd"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("a.txt: has changed since the run wrote it")));
}

TEST(EnvironmentTest, TheBuildIsDescribed) {
  const Environment environment = BuildEnvironment();
  EXPECT_THAT(environment.compiler, MatchesRegex(".*[0-9]+\\.[0-9]+.*"));
  EXPECT_THAT(environment.instruction_set, StartsWith("x86-64"));
  EXPECT_THAT(environment.libraries.at("eigen"), StartsWith("3."));
  EXPECT_THAT(environment.libraries.at("protobuf"), MatchesRegex("[0-9.]+"));
  EXPECT_FALSE(
      nlohmann::json::parse(EnvironmentJson(environment), nullptr, false)
          .is_discarded());
}

}  // namespace
}  // namespace regard
