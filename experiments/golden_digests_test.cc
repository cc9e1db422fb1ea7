// Trains short runs and checks that their results have not changed.
// golden_digests.json lists the runs and their results. The results are the
// same for all processors from x86-64-v3 on, all compilers and all versions of
// the libraries. If a change is intended, the following command trains the runs
// and writes the new results:
//
//   bazel run //experiments:golden_digests_test -- --renew
#include <gnu/libc-version.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/run/environment.h"
#include "experiments/run/status.h"
#include "experiments/testing/child_program.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

// An ordered type, which keeps the order of the runs.
using Json = nlohmann::ordered_json;

constexpr char kList[] = "experiments/golden_digests.json";
constexpr char kRenewal[] =
    "bazel run //experiments:golden_digests_test -- --renew";

Json ReadList(const std::string& path) {
  return Json::parse(std::ifstream(path), nullptr, /*allow_exceptions=*/false);
}

std::vector<std::string> RunNames() {
  const Json list = ReadList(kList);
  std::vector<std::string> names;
  for (const auto& [name, run] : list.items()) names.push_back(name);
  return names;
}

// Whether this build has fused multiply-add. Without it, sums of products are
// rounded differently.
bool HasFusedMultiplyAdd() {
  return BuildEnvironment().instruction_set != "x86-64";
}

// Returns the instruction set, the compiler and the libraries that determine
// how this build rounds.
std::string Platform() {
  const Environment environment = BuildEnvironment();
  return absl::StrCat(environment.instruction_set, ", ", environment.compiler,
                      ", glibc ", gnu_get_libc_version(), ", Eigen ",
                      environment.libraries.at("eigen"));
}

// Trains a run, and returns the digest of its last weights. If the task has a
// loss on dev, the result includes its final value. This value belongs to the
// weights that the run has chosen, such as the best weights or an average.
absl::StatusOr<std::string> Train(const std::string& name, const Json& run) {
  const std::string folder =
      absl::StrCat(::testing::TempDir(), "/golden_digests_test.", name);
  std::filesystem::remove_all(folder);
  std::vector<std::string> command = {
      "experiments/train", "--config=" + run.at("config").get<std::string>(),
      "--run=" + folder, "--threads=1", "--omit_times"};
  for (const Json& change : run.at("set")) {
    command.push_back("--set");
    command.push_back(change.get<std::string>());
  }
  ChildProgram child(command, folder);
  if (child.Wait() != 0) return absl::InternalError(child.Errors());
  REGARD_ASSIGN_OR_RETURN(const RunStatus status,
                          ReadStatus(folder + "/status.json"));
  std::filesystem::remove_all(folder);
  const auto loss = status.metrics.find("dev/loss");
  return loss == status.metrics.end()
             ? status.weights_digest
             : absl::StrCat(status.weights_digest, ", dev/loss ",
                            Json(loss->second).dump());
}

class GoldenDigestsTest : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Runs, GoldenDigestsTest,
                         ::testing::ValuesIn(RunNames()),
                         [](const auto& run) { return run.param; });

TEST_P(GoldenDigestsTest, AreUnchanged) {
  if (!HasFusedMultiplyAdd()) {
    GTEST_SKIP() << "this build has no fused multiply-add";
  }
  const Json run = ReadList(kList).at(GetParam());
  const absl::StatusOr<std::string> now = Train(GetParam(), run);
  ASSERT_TRUE(now.ok()) << now.status();
  const std::string before = run.at("result").get<std::string>();
  if (*now == before) return;
  ADD_FAILURE() << "The run " << GetParam() << " of " << kList
                << " has changed, or differs on " << Platform()
                << ".\n  expected: " << before << "\n  found:    " << *now
                << "\nIf the change is intended: " << kRenewal;
}

// Writes the new results. Returns the exit code.
int Renew() {
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::fprintf(stderr, "error: start it by %s\n", kRenewal);
    return 2;
  }
  if (!HasFusedMultiplyAdd()) {
    std::fprintf(stderr, "error: build for x86-64-v3 or x86-64-v4\n");
    return 2;
  }
  const std::string path = absl::StrCat(workspace, "/", kList);
  Json list = ReadList(path);
  for (auto& [name, run] : list.items()) {
    const absl::StatusOr<std::string> now = Train(name, run);
    if (!now.ok()) {
      std::fprintf(stderr, "%s: %s", name.c_str(),
                   std::string(now.status().message()).c_str());
      return 1;
    }
    if (run["result"] == *now) continue;
    std::fprintf(stderr, "%s: %s\n", name.c_str(), now->c_str());
    run["result"] = *now;
  }
  std::ofstream file(path);
  file << list.dump(2) << std::endl;
  return file ? 0 : 1;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  // Makes paths relative to the runfiles, rather than to the directory in which
  // `bazel run` was started.
  unsetenv("BUILD_WORKING_DIRECTORY");
  if (argc == 2 && absl::string_view(argv[1]) == "--renew") {
    return regard::Renew();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
