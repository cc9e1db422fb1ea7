// Trains a run with a fault in its k-th file operation. Either the fault has no
// visible effect, or the run ends with one message that names the file. A run
// that ended with an error can be resumed. It is then bit-identical to a run
// without faults.
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/run/checkpoint.h"
#include "experiments/testing/child_program.h"
#include "files/testing/faulty_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kConfig[] = R"(
name: "faults"
data { phrasebook { train: 50 dev: 2 test: 2 test_unseen_pairs: 2 } }
model {
  encoder { embedding: 4 hidden: 4 }
  attention { dot {} }
  decoder { embedding: 4 hidden: 4 }
}
optimizer { adam {} learning_rate: 0.01 }
training { epochs: 3 batch_size: 25 checkpoint_every: 2 average: 2 keep_checkpoints: 1 }
)";

// Returns the content of every file of a run by its relative path. Omits times,
// and files that contain only times.
std::map<std::string, std::string> Contents(const std::string& folder) {
  static const std::regex* const times = new std::regex(",\"seconds\":[^,}]*");
  std::map<std::string, std::string> contents;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().string().substr(folder.size() + 1);
    // A kill may leave a temporary file next to the file that was being
    // replaced.
    if (!entry.is_regular_file() || absl::StartsWith(name, "tensorboard/") ||
        name == "environment.json" || absl::StrContains(name, ".tmp-")) {
      continue;
    }
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    contents[name] = name == "metrics.jsonl"
                         ? std::regex_replace(text.str(), *times, "")
                         : text.str();
  }
  return contents;
}

// Returns the name of a file in which two runs differ, or "" if there is none.
std::string Difference(const std::map<std::string, std::string>& a,
                       const std::map<std::string, std::string>& b) {
  for (const auto& [name, text] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second != text) return name;
  }
  return a.size() < b.size() ? "a further file" : "";
}

// Whether a run starts in a new folder, or resumes after it was killed while it
// saved a checkpoint.
enum class Start { kNew, kKilled };

class FaultSweepTest
    : public ::testing::TestWithParam<std::tuple<FileFaultKind, Start>> {
 protected:
  FaultSweepTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(Path("config")) << kConfig;
    EXPECT_EQ(Train("peace", FileFaultKind::kIoError, INT_MAX), 0) << errors_;
    whole_ = Contents(Path("peace"));
    if (std::get<Start>(GetParam()) == Start::kKilled) {
      // Kills the run in the second half of its operations.
      const int k = operations() * 6 / 10;
      EXPECT_EQ(Train("start", FileFaultKind::kKilled, k), 128 + SIGKILL);
      EXPECT_THAT(FindCheckpoints(Path("start"))->checkpoints,
                  ::testing::SizeIs(1));
    }
  }
  ~FaultSweepTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }

  int Train(const std::string& run, FileFaultKind fault, int k) {
    ChildProgram program(
        {"experiments/testing/faulty_train",
         absl::StrCat(static_cast<int>(fault)), absl::StrCat(k), "--resume",
         "--config=" + Path("config"), "--run=" + Path(run), "--threads=1"},
        Path("output"));
    const int code = program.Wait();
    errors_ = program.Errors();
    return code;
  }

  // The number of file operations of the last run, which must not have been
  // killed.
  int operations() const {
    const std::vector<std::string> lines = absl::StrSplit(errors_, '\n');
    int count = 0;
    EXPECT_TRUE(absl::SimpleAtoi(
        lines[lines.size() - 2].substr(0, lines[lines.size() - 2].find(' ')),
        &count));
    return count;
  }

  void PutStart() {
    std::filesystem::remove_all(Path("run"));
    if (!std::filesystem::exists(Path("start"))) return;
    std::filesystem::copy(Path("start"), Path("run"),
                          std::filesystem::copy_options::recursive);
  }

  void ExpectWhole() const {
    EXPECT_EQ(Difference(whole_, Contents(Path("run"))), "");
  }

  void ExpectOneMessage(const char* reason) {
    int messages = 0;
    for (const absl::string_view line : absl::StrSplit(errors_, '\n')) {
      if (!absl::StrContains(line, reason)) continue;
      ++messages;
      // Compares only a prefix, because messages shorten long paths.
      EXPECT_THAT(std::string(line), HasSubstr(folder_.substr(0, 60)));
    }
    EXPECT_EQ(messages, 1) << errors_;
  }

  const std::string folder_ =
      absl::StrCat(::testing::TempDir(), "/fault_sweep");
  std::string errors_;  // the output of the last run
  std::map<std::string, std::string> whole_;
};

TEST_P(FaultSweepTest, SurvivesAFaultAtEveryOperation) {
  const FileFaultKind fault = std::get<FileFaultKind>(GetParam());
  // By default, tests every 11th operation. --test_env=SWEEP_EVERY=1 tests all
  // of them, which takes minutes.
  const char* const given = std::getenv("SWEEP_EVERY");
  const int every = given == nullptr ? 11 : std::atoi(given);
  PutStart();
  ASSERT_EQ(Train("run", fault, INT_MAX), 0) << errors_;
  ExpectWhole();
  const int points = operations();
  EXPECT_GT(points, 40);
  int ended = 0;
  int tried = 0;
  for (int k = 1; k <= points && !HasFailure(); k += every, ++tried) {
    SCOPED_TRACE(absl::StrCat("operation ", k));
    PutStart();
    const int code = Train("run", fault, k);
    SCOPED_TRACE(errors_);
    if (code == 0) {
      // If a file cannot be removed, the run must still succeed. A later run
      // removes the file.
      if (fault != FileFaultKind::kIoError) {
        ExpectWhole();
      }
    } else {
      ++ended;
      switch (fault) {
        case FileFaultKind::kKilled:
          EXPECT_EQ(code, 128 + SIGKILL);
          break;
        case FileFaultKind::kIoError:
        case FileFaultKind::kDiskFull:
          EXPECT_EQ(code, 1);
          ExpectOneMessage(
              std::strerror(fault == FileFaultKind::kDiskFull ? ENOSPC : EIO));
          break;
        default:
          ADD_FAILURE() << "ends with " << code;
      }
    }
    if (std::filesystem::exists(Path("run"))) {
      const auto found = FindCheckpoints(Path("run"));
      EXPECT_TRUE(found.ok()) << found.status();
      EXPECT_THAT(found->notes, IsEmpty());
    }
    if (code == 0) continue;
    EXPECT_EQ(Train("run", fault, INT_MAX), 0) << errors_;
    ExpectWhole();
  }
  std::printf("%d of %d points, %d of which ended the run\n", tried, points,
              ended);
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultSweepTest,
    ::testing::Combine(::testing::Values(FileFaultKind::kIoError,
                                         FileFaultKind::kDiskFull,
                                         FileFaultKind::kInterrupted,
                                         FileFaultKind::kShort,
                                         FileFaultKind::kKilled),
                       ::testing::Values(Start::kNew, Start::kKilled)));

}  // namespace
}  // namespace regard
