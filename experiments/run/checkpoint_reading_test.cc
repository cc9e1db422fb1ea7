// Tests that a checkpoint that cannot be read is not treated as a damaged one.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metrics_log.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Makes all operations of one kind fail with one errno, for files with one
// name.
class UnreadableFiles : public FileOperations {
 public:
  enum class Call { kOpen, kRead, kStatus, kList };

  UnreadableFiles(std::string name, Call call, int error)
      : name_(std::move(name)), call_(call), error_(error) {}

  int Open(const std::string& path, int flags) override {
    const Call call = (flags & O_DIRECTORY) != 0 ? Call::kList : Call::kOpen;
    if (Fails(path, call)) return -1;
    const int descriptor = FileOperations::Open(path, flags);
    if (EndsWith(path)) named_.insert(descriptor);
    return descriptor;
  }
  ssize_t ReadAt(int descriptor, char* bytes, size_t count,
                 int64_t offset) override {
    if (call_ == Call::kRead && named_.count(descriptor) > 0) {
      errno = error_;
      return -1;
    }
    return FileOperations::ReadAt(descriptor, bytes, count, offset);
  }
  int Status(const std::string& path, struct stat* info) override {
    return Fails(path, Call::kStatus) ? -1 : FileOperations::Status(path, info);
  }
  int Close(int descriptor) override {
    named_.erase(descriptor);
    return FileOperations::Close(descriptor);
  }

 private:
  bool EndsWith(const std::string& path) const {
    return absl::EndsWith(path, absl::StrCat("/", name_));
  }
  bool Fails(const std::string& path, Call call) const {
    if (call != call_ || !EndsWith(path)) return false;
    errno = error_;
    return true;
  }

  const std::string name_;
  const Call call_;
  const int error_;
  std::set<int> named_;
};

// A checkpoint that cannot be read must be an error, and must not be removed.
// Using an older one would lose optimizer steps.
TEST(CheckpointReadingTest, UnreadableFilesAreErrorsNotDamage) {
  FileOperations& system = SystemFiles();
  const std::string folder =
      JoinPath(::testing::TempDir(), "checkpoint_reading");
  ASSERT_THAT(MakeDirectories(folder, system), IsOk());
  const std::vector<float> values = {1};
  const std::vector<NamedTensorView> weights = {{"w", {1}, values}};
  const std::vector<Snapshot> snapshots = {{4, weights}};
  for (const int64_t step : {5, 6}) {
    const CheckpointContent content = {.step = step,
                                       .weights = weights,
                                       .optimizer = weights,
                                       .state = "a state",
                                       .snapshots = snapshots};
    ASSERT_THAT(SaveCheckpoint(folder, content, 2, system), IsOk());
  }
  const std::string checkpoints = JoinPath(folder, "checkpoints");
  ASSERT_THAT(RenameFile(JoinPath(checkpoints, "step-5"),
                         JoinPath(checkpoints, "step-6.old"), system),
              IsOk());
  const std::vector<std::string> before = ListDirectory(checkpoints).value();
  using Call = UnreadableFiles::Call;
  std::vector<std::pair<std::string, Call>> faults = {
      {"checkpoints", Call::kList},
      {"checkpoints", Call::kStatus},
      {"step-6", Call::kStatus},
      {absl::StrCat("step-6/", kBestFile), Call::kStatus}};
  for (const char* name : {kManifestFile, kOptimizerFile, kStateFile,
                           kWeightsFile, "../snapshot-4.safetensors"}) {
    faults.push_back({absl::StrCat("step-6/", name), Call::kOpen});
    faults.push_back({absl::StrCat("step-6/", name), Call::kRead});
  }
  for (const auto& [name, call] : faults) {
    for (const int error : {EACCES, EIO, ESTALE}) {
      SCOPED_TRACE(absl::StrCat(name, ": ", std::strerror(error)));
      UnreadableFiles files(name, call, error);
      const absl::Status found = FindCheckpoints(folder, 1, files).status();
      EXPECT_TRUE(IsMachineFailure(found)) << found;
      EXPECT_THAT(std::string(found.message()),
                  AllOf(HasSubstr(name), HasSubstr(std::strerror(error))));
      EXPECT_TRUE(IsMachineFailure(CleanUpCheckpoints(folder, files)));
      EXPECT_THAT(ListDirectory(checkpoints).value(), ElementsAreArray(before));
    }
  }
  const auto latest = FindCheckpoints(folder);
  ASSERT_THAT(latest, IsOk());
  EXPECT_EQ(latest->checkpoints[0].step, 6);
}

TEST(MetricsLogReadingTest, ALogThatCannotBeReadIsNotBegunAgain) {
  const std::string path = JoinPath(::testing::TempDir(), "metrics.jsonl");
  const std::string text = MetricsLine({.step = 1});
  ASSERT_THAT(WriteFileAtomically(path, text), IsOk());
  using Call = UnreadableFiles::Call;
  for (const Call call : {Call::kStatus, Call::kOpen, Call::kRead}) {
    for (const int error : {EACCES, EIO, ESTALE}) {
      UnreadableFiles files("metrics.jsonl", call, error);
      const absl::Status resumed = ResumeMetricsLog(path, 1, files).status();
      EXPECT_TRUE(IsMachineFailure(resumed)) << resumed;
      EXPECT_THAT(std::string(resumed.message()),
                  AllOf(HasSubstr(path), HasSubstr(std::strerror(error))));
      EXPECT_EQ(ReadFile(path).value(), text);
    }
  }
}

}  // namespace
}  // namespace regard
