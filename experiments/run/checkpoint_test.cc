#include "experiments/run/checkpoint.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "files/testing/faulty_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The files of the checkpoint of step 6 that the tests damage.
constexpr const char* kFiles[] = {kBestFile,      kManifestFile,
                                  kOptimizerFile, kStateFile,
                                  kWeightsFile,   "../snapshot-4.safetensors"};

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() { Restart(); }

  // Replaces the run folder by an empty one.
  void Restart() {
    EXPECT_THAT(RemoveTree(folder_, files_), IsOk());
    EXPECT_THAT(MakeDirectories(folder_, files_), IsOk());
  }

  // Saves a checkpoint. The content of each file depends on `mark`, but a
  // snapshot depends only on its step.
  absl::Status Save(int64_t step, float mark, int keep, FileOperations& files,
                    const std::vector<int64_t>& earlier = {}) {
    std::vector<std::vector<float>> values;
    std::vector<std::vector<NamedTensorView>> views;
    std::vector<Snapshot> snapshots;
    for (const int64_t snapshot : earlier) {
      values.push_back({static_cast<float>(snapshot)});
    }
    for (const std::vector<float>& value : values) {
      views.push_back({{"w", {1}, value}});
    }
    for (size_t i = 0; i < earlier.size(); ++i) {
      snapshots.push_back({earlier[i], views[i]});
    }
    const std::vector<float> weights = {mark, 1.0f};
    const std::vector<float> moments = {0.5f * mark};
    return SaveCheckpoint(folder_,
                          {.step = step,
                           .weights = {{"w", {2, 1}, weights}},
                           .weights_metadata = {{"alias.v", "w"}},
                           .optimizer = {{"w.m", {1}, moments}},
                           .state = absl::StrCat("mark: ", mark, "\n"),
                           .best = {{"w", {2, 1}, weights}},
                           .snapshots = snapshots},
                          keep, files);
  }

  absl::Status Save(int64_t step, float mark) {
    return Save(step, mark, 3, files_);
  }

  std::string StepPath(int64_t step) const {
    return JoinPath(folder_, absl::StrCat("checkpoints/step-", step));
  }

  // Returns the mark in all files of the latest checkpoint, or -1 without one.
  float LatestMark() {
    const auto latest = FindCheckpoints(folder_);
    EXPECT_THAT(latest, IsOk());
    if (latest->checkpoints.empty()) return -1;
    const CheckpointInfo& checkpoint = latest->checkpoints[0];
    std::vector<float> weights(2);
    std::vector<float> moments(1);
    const auto weights_file = SafetensorsReader::Open(checkpoint.WeightsPath());
    const auto moments_file =
        SafetensorsReader::Open(checkpoint.OptimizerPath());
    EXPECT_THAT(weights_file->Read("w", {2, 1}, absl::MakeSpan(weights)),
                IsOk());
    EXPECT_THAT(moments_file->Read("w.m", {1}, absl::MakeSpan(moments)),
                IsOk());
    EXPECT_EQ(moments[0], 0.5f * weights[0]);
    EXPECT_EQ(ReadFile(checkpoint.StatePath()).value(),
              absl::StrCat("mark: ", weights[0], "\n"));
    for (const int64_t step : checkpoint.snapshots) {
      std::vector<float> value(1);
      const auto file = SafetensorsReader::Open(checkpoint.SnapshotPath(step));
      EXPECT_THAT(file->Read("w", {1}, absl::MakeSpan(value)), IsOk());
      EXPECT_EQ(value[0], static_cast<float>(step));
    }
    return weights[0];
  }

  // Whether the newest checkpoint is `expected`, and `damaged` is reported.
  bool FallsBack(int64_t damaged, int64_t expected) {
    const auto found = FindCheckpoints(folder_);
    return found.ok() && found->checkpoints.size() == 1 &&
           found->checkpoints[0].step == expected && !found->notes.empty() &&
           absl::StrContains(
               found->notes[0],
               absl::StrCat("checkpoint of step ", damaged, " is damaged"));
  }

  std::vector<std::string> Names() {
    return ListDirectory(JoinPath(folder_, "checkpoints")).value();
  }

  // File operations that never fail and do not sync to disk.
  FaultyFiles files_{FileFaultKind::kIoError, INT_MAX};
  std::string folder_ = JoinPath(::testing::TempDir(), "checkpoint_run");
};

TEST_F(CheckpointTest, ARunWithoutCheckpointsHasNoLatest) {
  EXPECT_EQ(LatestMark(), -1);
  EXPECT_THAT(CleanUpCheckpoints(folder_, files_), IsOk());
}

TEST_F(CheckpointTest, TheNewestByNumberIsTheLatest) {
  ASSERT_THAT(Save(9, 1), IsOk());
  ASSERT_THAT(Save(10, 2), IsOk());
  EXPECT_EQ(LatestMark(), 2);
  const auto latest = FindCheckpoints(folder_);
  EXPECT_EQ(latest->checkpoints[0].step, 10);
  EXPECT_THAT(latest->notes, IsEmpty());
  EXPECT_THAT(
      ListDirectory(latest->checkpoints[0].path).value(),
      ElementsAre("best.safetensors", "manifest.json", "optimizer.safetensors",
                  "state.textproto", "weights.safetensors"));
}

TEST_F(CheckpointTest, SeveralAreFoundNewestFirst) {
  for (const int64_t step : {1, 2, 3}) {
    ASSERT_THAT(Save(step, static_cast<float>(step)), IsOk());
  }
  const auto steps = [&](size_t most) {
    const auto found = FindCheckpoints(folder_, most);
    std::vector<int64_t> steps;
    for (const CheckpointInfo& checkpoint : found->checkpoints) {
      steps.push_back(checkpoint.step);
    }
    return steps;
  };
  EXPECT_THAT(steps(0), IsEmpty());
  EXPECT_THAT(steps(2), ElementsAre(3, 2));
  EXPECT_THAT(steps(9), ElementsAre(3, 2, 1));
  // A process that is killed between renaming and removal leaves two
  // directories of the same step.
  const std::string newest = JoinPath(folder_, "checkpoints/step-3");
  std::filesystem::copy(newest, newest + ".old");
  EXPECT_THAT(steps(2), ElementsAre(3, 2));
}

TEST_F(CheckpointTest, ManifestIsAsDocumented) {
  EXPECT_EQ(ManifestText(7, {{"a", {.bytes = 3, .sha256 = "00ff"}},
                             {"b", {.bytes = 0, .sha256 = "11"}}}),
            "{\n"
            "  \"format\": \"regard.checkpoint\",\n"
            "  \"version\": 1,\n"
            "  \"step\": 7,\n"
            "  \"files\": {\n"
            "    \"a\": {\"bytes\": 3, \"sha256\": \"00ff\"},\n"
            "    \"b\": {\"bytes\": 0, \"sha256\": \"11\"}\n"
            "  }\n"
            "}\n");
}

TEST_F(CheckpointTest, OnlyTheNewestAreKept) {
  for (const int step : {1, 2, 3, 4}) {
    ASSERT_THAT(Save(step, step, 2, files_), IsOk());
  }
  EXPECT_THAT(Names(), ElementsAre("step-3", "step-4"));
}

TEST_F(CheckpointTest, ADamagedLaterCheckpointDoesNotReplaceTheNewOne) {
  ASSERT_THAT(Save(40, 4), IsOk());
  ASSERT_THAT(Save(35, 3, 1, files_), IsOk());
  EXPECT_THAT(Names(), ElementsAre("step-35", "step-40"));
}

TEST_F(CheckpointTest, TheSameStepIsReplaced) {
  ASSERT_THAT(Save(5, 1), IsOk());
  ASSERT_THAT(Save(5, 2), IsOk());
  EXPECT_EQ(LatestMark(), 2);
  EXPECT_THAT(Names(), ElementsAre("step-5"));
}

TEST_F(CheckpointTest, ARemovedRunIsNotRecreated) {
  ASSERT_THAT(RemoveTree(folder_, files_), IsOk());
  EXPECT_THAT(Save(5, 1),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("checkpoints: cannot create the directory")));
  EXPECT_FALSE(PathExists(folder_));
}

TEST_F(CheckpointTest, OtherNamesAreNotCheckpoints) {
  ASSERT_THAT(Save(5, 1), IsOk());
  const std::string checkpoints = JoinPath(folder_, "checkpoints");
  for (const char* name : {"step-007", "step-", "step--1", "step-9x", "best",
                           "step-99999999999999999999"}) {
    ASSERT_THAT(MakeDirectories(JoinPath(checkpoints, name), files_), IsOk());
  }
  ASSERT_THAT(WriteFileAtomically(JoinPath(checkpoints, "step-8"), ""), IsOk());
  const auto latest = FindCheckpoints(folder_);
  EXPECT_EQ(latest->checkpoints[0].step, 5);
  EXPECT_THAT(latest->notes, IsEmpty());
}

TEST_F(CheckpointTest, LeftoversAreClearedAway) {
  ASSERT_THAT(Save(5, 1), IsOk());
  const std::string checkpoints = JoinPath(folder_, "checkpoints");
  ASSERT_THAT(MakeDirectories(JoinPath(checkpoints, "step-6.tmp-1/x"), files_),
              IsOk());
  ASSERT_THAT(MakeDirectories(JoinPath(checkpoints, "step-5.old"), files_),
              IsOk());
  EXPECT_EQ(LatestMark(), 1);
  ASSERT_THAT(CleanUpCheckpoints(folder_, files_), IsOk());
  EXPECT_THAT(Names(), ElementsAre("step-5"));
}

TEST_F(CheckpointTest, AReplacedOneComesBackWhenItsSuccessorIsDamaged) {
  ASSERT_THAT(Save(5, 1), IsOk());
  const std::string saved = StepPath(5);
  ASSERT_THAT(RenameFile(saved, saved + ".old", files_), IsOk());
  EXPECT_EQ(LatestMark(), 1);
  ASSERT_THAT(MakeDirectories(saved, files_), IsOk());
  EXPECT_EQ(LatestMark(), 1);
  ASSERT_THAT(CleanUpCheckpoints(folder_, files_), IsOk());
  EXPECT_THAT(Names(), ElementsAre("step-5"));
  EXPECT_EQ(LatestMark(), 1);
}

// Flips every bit of every file, truncates it to every length, and removes it.
// Regard must use the older checkpoint and report the damage.
TEST_F(CheckpointTest, AnyDamageFallsBackToTheOlderAndSaysSo) {
  ASSERT_THAT(Save(5, 1), IsOk());
  ASSERT_THAT(Save(6, 2, 3, files_, {4}), IsOk());
  int flips = 0;
  int cuts = 0;
  for (const char* name : kFiles) {
    const std::string path = JoinPath(StepPath(6), name);
    const std::string bytes = ReadFile(path).value();
    const auto detected = [&](const std::string& damaged) {
      std::ofstream(path, std::ios::binary) << damaged;
      return FallsBack(6, 5);
    };
    for (size_t i = 0; i < bytes.size(); ++i) {
      SCOPED_TRACE(absl::StrCat(name, " byte ", i));
      for (int bit = 0; bit < 8; ++bit, ++flips) {
        std::string damaged = bytes;
        damaged[i] ^= static_cast<char>(1 << bit);
        ASSERT_TRUE(detected(damaged)) << "bit " << bit;
      }
      ASSERT_TRUE(detected(bytes.substr(0, i))) << "cut";
      ++cuts;
    }
    EXPECT_TRUE(detected(absl::StrCat(bytes, " ")));
    std::filesystem::remove(path);
    EXPECT_TRUE(FallsBack(6, 5)) << name;
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(LatestMark(), 2) << "restored";
  }
  std::printf("%d bits flipped, %d files cut: all detected\n", flips, cuts);
}

TEST_F(CheckpointTest, FilesOfAnotherCheckpointAreDamage) {
  for (const int step : {4, 5, 6}) {
    ASSERT_THAT(Save(step, step, 3, files_, {step - 1}), IsOk());
  }
  const std::string aside = JoinPath(folder_, "aside");
  const auto exchange = [&](const std::string& a, const std::string& b) {
    std::filesystem::rename(a, aside);
    std::filesystem::rename(b, a);
    std::filesystem::rename(aside, b);
  };
  // Exchanged or copied files, snapshots and checkpoints must count as damage.
  for (const char* name :
       {kBestFile, kManifestFile, kOptimizerFile, kStateFile, kWeightsFile}) {
    SCOPED_TRACE(name);
    const std::string path = JoinPath(StepPath(6), name);
    const std::string other = JoinPath(StepPath(5), name);
    exchange(path, other);
    EXPECT_TRUE(FallsBack(6, 4));
    exchange(path, other);
    std::filesystem::copy_file(path, aside);
    std::filesystem::remove(path);
    std::filesystem::copy_file(other, path);
    EXPECT_TRUE(FallsBack(6, 5)) << "a copy";
    std::filesystem::rename(aside, path);
  }
  const std::string snapshots = StepPath(6) + "/../snapshot-";
  exchange(snapshots + "5.safetensors", snapshots + "4.safetensors");
  EXPECT_TRUE(FallsBack(6, 4));
  exchange(snapshots + "5.safetensors", snapshots + "4.safetensors");
  exchange(StepPath(6), StepPath(5));
  EXPECT_TRUE(FallsBack(6, 4));
  exchange(StepPath(6), StepPath(5));
  EXPECT_EQ(LatestMark(), 6) << "restored";
}

TEST_F(CheckpointTest, SnapshotsAreStoredOnceAndRemovedWithTheirLastUse) {
  ASSERT_THAT(Save(5, 1, 2, files_, {3, 4}), IsOk());
  const std::string shared =
      JoinPath(folder_, "checkpoints/snapshot-4.safetensors");
  const auto written = std::filesystem::last_write_time(shared);
  std::filesystem::last_write_time(shared, written - std::chrono::hours(1));
  ASSERT_THAT(Save(6, 2, 2, files_, {4, 10}), IsOk());
  EXPECT_EQ(std::filesystem::last_write_time(shared),
            written - std::chrono::hours(1))
      << "written again";
  EXPECT_THAT(Names(),
              ElementsAre("snapshot-10.safetensors", "snapshot-3.safetensors",
                          "snapshot-4.safetensors", "step-5", "step-6"));
  EXPECT_EQ(LatestMark(), 2);
  EXPECT_THAT(FindCheckpoints(folder_)->checkpoints[0].snapshots,
              ElementsAre(4, 10));
  ASSERT_THAT(Save(7, 3, 2, files_, {10}), IsOk());
  EXPECT_THAT(Names(),
              ElementsAre("snapshot-10.safetensors", "snapshot-4.safetensors",
                          "step-6", "step-7"));
  ASSERT_THAT(Save(8, 4, 1, files_), IsOk());
  EXPECT_THAT(Names(), ElementsAre("step-8"));
}

TEST_F(CheckpointTest, ADamagedSnapshotDamagesWhatRefersToIt) {
  ASSERT_THAT(Save(5, 1, 3, files_, {3}), IsOk());
  ASSERT_THAT(Save(6, 2, 3, files_, {3, 4}), IsOk());
  const std::string path =
      JoinPath(folder_, "checkpoints/snapshot-4.safetensors");
  const std::string bytes = ReadFile(path, 1 << 20).value();
  std::ofstream(path, std::ios::binary) << "?" << bytes.substr(1);
  EXPECT_EQ(LatestMark(), 1);
  EXPECT_THAT(FindCheckpoints(folder_)->notes,
              ElementsAre(HasSubstr("has ../snapshot-4.safetensors: {bytes")));
  ASSERT_THAT(RemoveTree(path, files_), IsOk());
  EXPECT_THAT(FindCheckpoints(folder_)->notes,
              ElementsAre(HasSubstr("snapshot-4.safetensors: cannot open")));
  // Saving another checkpoint that refers to the snapshot must write it again.
  ASSERT_THAT(Save(7, 3, 3, files_, {3, 4}), IsOk());
  EXPECT_EQ(LatestMark(), 3);
}

TEST_F(CheckpointTest, OtherNamesAreNotSnapshots) {
  ASSERT_THAT(Save(5, 1, 3, files_, {3}), IsOk());
  const std::string checkpoints = JoinPath(folder_, "checkpoints");
  for (const char* name : {"snapshot-03.safetensors", "snapshot-9.bin",
                           "snapshot-9.safetensors.txt", "snapshot-"}) {
    ASSERT_THAT(WriteFileAtomically(JoinPath(checkpoints, name), ""), IsOk());
  }
  // Files that a process may leave when it dies.
  for (const char* name :
       {"snapshot-9.safetensors", "snapshot-3.safetensors.tmp-12"}) {
    ASSERT_THAT(WriteFileAtomically(JoinPath(checkpoints, name), ""), IsOk());
  }
  ASSERT_THAT(CleanUpCheckpoints(folder_, files_), IsOk());
  EXPECT_THAT(Names(), ElementsAre("snapshot-", "snapshot-03.safetensors",
                                   "snapshot-3.safetensors", "snapshot-9.bin",
                                   "snapshot-9.safetensors.txt", "step-5"));
}

TEST_F(CheckpointTest, TheNoteNamesTheFileThatDiffers) {
  ASSERT_THAT(Save(6, 2), IsOk());
  const std::string saved = StepPath(6);
  std::ofstream(JoinPath(saved, kStateFile)) << "mark: 3\n";
  EXPECT_THAT(FindCheckpoints(folder_)->notes,
              ElementsAre(HasSubstr("has state.textproto: {bytes: 8")));
  ASSERT_THAT(RemoveTree(JoinPath(saved, kWeightsFile), files_), IsOk());
  EXPECT_THAT(
      FindCheckpoints(folder_)->notes,
      ElementsAre(HasSubstr("weights.safetensors: cannot open: No such file")));
}

TEST_F(CheckpointTest, AManifestThatPointsElsewhereIsDamaged) {
  ASSERT_THAT(Save(6, 2), IsOk());
  const std::string path = JoinPath(StepPath(6), kManifestFile);
  std::string manifest = ReadFile(path, 4096).value();
  manifest.replace(manifest.find(kStateFile), sizeof(kStateFile) - 1,
                   "../../../secret");
  std::ofstream(path) << manifest;
  EXPECT_EQ(LatestMark(), -1);
}

// Saves one step after another in a child process, kills the child at an
// arbitrary moment, and continues from the latest checkpoint, 20 times.
TEST_F(CheckpointTest, AKilledProcessLosesNothingItHadSaved) {
  int64_t step = 0;
  for (int kills = 0; kills < 20; ++kills) {
    SCOPED_TRACE(absl::StrCat("kill ", kills));
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      if (!CleanUpCheckpoints(folder_, files_).ok()) _exit(1);
      for (int64_t next = step + 1;; ++next) {
        if (!Save(next, static_cast<float>(next), 2, files_,
                  {next / 3, next / 3 + 1})
                 .ok()) {
          _exit(1);
        }
        if (write(told[1], &next, sizeof(next)) != sizeof(next)) _exit(1);
      }
    }
    close(told[1]);
    int64_t saved = step;
    // Lets every second child save a step, even if the disk is slow.
    if (kills % 2 == 1) {
      ASSERT_EQ(read(told[0], &saved, sizeof(saved)), sizeof(saved));
    }
    usleep(500 + 1700 * (kills % 7));
    kill(child, SIGKILL);
    int ended = 0;
    waitpid(child, &ended, 0);
    EXPECT_TRUE(WIFSIGNALED(ended)) << "the child failed by itself";
    while (read(told[0], &saved, sizeof(saved)) == sizeof(saved)) continue;
    close(told[0]);
    const auto latest = FindCheckpoints(folder_);
    ASSERT_THAT(latest, IsOk());
    EXPECT_THAT(latest->notes, IsEmpty());
    if (latest->checkpoints.empty()) {
      EXPECT_EQ(saved, 0);
      continue;
    }
    step = latest->checkpoints[0].step;
    EXPECT_GE(step, saved);
    EXPECT_EQ(LatestMark(), static_cast<float>(step));
  }
  EXPECT_GT(step, 0) << "nothing was ever saved";
}

class FaultTest : public CheckpointTest,
                  public ::testing::WithParamInterface<FileFaultKind> {
 protected:
  // Saves mark 2 over mark 1, once for each k with a fault at the k-th file
  // operation. Afterwards, the latest mark must be 1 or 2.
  void ExpectOldOrNew(int64_t old_step, int64_t new_step) {
    int k = 1;
    for (bool reached = true; reached; ++k) {
      SCOPED_TRACE(absl::StrCat("operation ", k));
      Restart();
      ASSERT_THAT(Save(old_step, 1, 1, files_, {1, 2}), IsOk());
      FaultyFiles faulty(GetParam(), k);
      const auto saved = Save(new_step, 2, 1, faulty, {2, 3});
      reached = faulty.reached();
      EXPECT_TRUE(reached || saved.ok());
      if (saved.ok()) {
        EXPECT_EQ(LatestMark(), 2);
      } else {
        EXPECT_THAT(LatestMark(), AnyOf(1, 2));
      }
      // The next process must be able to continue normally.
      ASSERT_THAT(CleanUpCheckpoints(folder_, files_), IsOk());
      EXPECT_THAT(LatestMark(), AnyOf(1, 2));
      ASSERT_THAT(Save(new_step, 3, 1, files_, {2, 3}), IsOk());
      EXPECT_EQ(LatestMark(), 3);
      EXPECT_THAT(Names(), ElementsAre("snapshot-2.safetensors",
                                       "snapshot-3.safetensors",
                                       absl::StrCat("step-", new_step)));
    }
    EXPECT_GT(k, 30) << "few faults were tried";
  }
};

TEST_P(FaultTest, ANewStepLeavesTheOldOrTheNewState) { ExpectOldOrNew(5, 6); }

TEST_P(FaultTest, AReplacedStepLeavesTheOldOrTheNewState) {
  ExpectOldOrNew(5, 5);
}

INSTANTIATE_TEST_SUITE_P(AtEveryOperation, FaultTest,
                         ::testing::Values(FileFaultKind::kIoError,
                                           FileFaultKind::kDiskFull,
                                           FileFaultKind::kGone));

}  // namespace
}  // namespace regard
