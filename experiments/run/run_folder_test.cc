#include "experiments/run/run_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RunFolderTest : public ::testing::Test {
 protected:
  RunFolderTest() {
    FileOperations files;
    EXPECT_THAT(RemoveTree(root_, files), IsOk());
    EXPECT_THAT(MakeDirectories(root_, files), IsOk());
    setenv("BUILD_WORKSPACE_DIRECTORY", root_.c_str(), 1);
  }
  ~RunFolderTest() override { unsetenv("BUILD_WORKSPACE_DIRECTORY"); }

  const std::string root_ = JoinPath(::testing::TempDir(), "run_folder");
};

TEST_F(RunFolderTest, MakesAFolderInTheWorkspaceByDefault) {
  const OpenRunFolderOptions options = {
      .name = "a b/c",
      .now = absl::FromCivil(absl::CivilSecond(2024, 2, 29, 13, 5, 9),
                             absl::UTCTimeZone())};
  const auto first = RunFolder::Open(options);
  const auto second = RunFolder::Open(options);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->path(), root_ + "/runs/a-b-c-20240229-130509");
  EXPECT_EQ(second->path(), root_ + "/runs/a-b-c-20240229-130509-2");
  EXPECT_FALSE(first->holds_run());
}

TEST_F(RunFolderTest, ANameCannotLeaveTheFolder) {
  const auto folder = RunFolder::Open({.name = ".."});
  ASSERT_THAT(folder, IsOk());
  EXPECT_EQ(folder->path(), root_ + "/runs/run..-19700101-000000");
}

TEST_F(RunFolderTest, AFolderThatHoldsARunIsRefusedUnlessResumed) {
  for (const char* file :
       {"checkpoints.json", "config.textproto", "run.json", "status.json"}) {
    {
      const auto first = RunFolder::Open({.path = JoinPath(root_, file)});
      ASSERT_THAT(first, IsOk());
      ASSERT_THAT(first->Write(file, "text"), IsOk());
    }
    EXPECT_THAT(
        RunFolder::Open({.path = JoinPath(root_, file)}).status(),
        StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--resume")));
    const auto resumed =
        RunFolder::Open({.path = JoinPath(root_, file), .resume = true});
    ASSERT_THAT(resumed, IsOk());
    EXPECT_TRUE(resumed->holds_run());
    EXPECT_EQ(resumed->Read(file).value(), "text");
  }
}

TEST_F(RunFolderTest, ARunHasBegunOnceItHasItsResolvedConfig) {
  {
    const auto folder = RunFolder::Open({.path = JoinPath(root_, "x")});
    ASSERT_THAT(folder, IsOk());
    EXPECT_FALSE(folder->holds_run());
    EXPECT_FALSE(folder->has_begun());
    ASSERT_THAT(folder->Write("config.textproto", ""), IsOk());
  }
  {
    const auto stopped =
        RunFolder::Open({.path = JoinPath(root_, "x"), .resume = true});
    ASSERT_THAT(stopped, IsOk());
    EXPECT_TRUE(stopped->holds_run());
    EXPECT_FALSE(stopped->has_begun());
    ASSERT_THAT(stopped->Write("resolved.textproto", ""), IsOk());
  }
  const auto begun =
      RunFolder::Open({.path = JoinPath(root_, "x"), .resume = true});
  ASSERT_THAT(begun, IsOk());
  EXPECT_TRUE(begun->has_begun());
}

TEST_F(RunFolderTest, OtherFilesAreNotARun) {
  FileOperations files;
  ASSERT_THAT(MakeDirectories(JoinPath(root_, "x"), files), IsOk());
  ASSERT_THAT(WriteFileAtomically(JoinPath(root_, "x/notes.txt"), ""), IsOk());
  EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "x")}), IsOk());
}

TEST_F(RunFolderTest, ASecondWriterIsRefusedUntilTheFirstIsGone) {
  {
    const auto first = RunFolder::Open({.path = JoinPath(root_, "x")});
    ASSERT_THAT(first, IsOk());
    EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "x"), .resume = true})
                    .status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("another process")));
  }
  EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "x")}), IsOk());
}

TEST_F(RunFolderTest, AnEntryThatIsALinkIsRefusedAndNothingTouched) {
  const std::string run = JoinPath(root_, "run");
  const std::string elsewhere = JoinPath(root_, "elsewhere");
  FileOperations& files = SystemFiles();
  ASSERT_THAT(MakeDirectories(JoinPath(elsewhere, "folder"), files), IsOk());
  ASSERT_THAT(WriteFileAtomically(JoinPath(elsewhere, "file"), "kept"), IsOk());
  for (const char* entry : {".lock",
                            "attention.json",
                            "baseline",
                            "baseline/.lock",
                            "baseline/checkpoints",
                            "baseline/metrics.jsonl",
                            "checkpoints",
                            "checkpoints/best",
                            "checkpoints/snapshot-1.safetensors",
                            "checkpoints/step-3",
                            "checkpoints/step-3/manifest.json",
                            "checkpoints/step-3/optimizer.safetensors",
                            "checkpoints/step-3/state.textproto",
                            "checkpoints/step-3/weights.safetensors",
                            "checkpoints/step-3.tmp-1/weights.safetensors",
                            "config.textproto",
                            "environment.json",
                            "examples.jsonl",
                            "inspect.html",
                            "metrics.jsonl",
                            "report.html",
                            "resolved.textproto",
                            "run.json",
                            "source_vocabulary.txt",
                            "status.json",
                            "tensorboard",
                            "tensorboard/events.out.tfevents.1",
                            "weights.safetensors"}) {
    for (const char* target : {"file", "folder", "nothing"}) {
      SCOPED_TRACE(absl::StrCat(entry, " -> ", target));
      ASSERT_THAT(RemoveTree(run, files), IsOk());
      const std::string path = JoinPath(run, entry);
      ASSERT_THAT(MakeDirectories(path.substr(0, path.rfind('/')), files),
                  IsOk());
      ASSERT_EQ(symlink(JoinPath(elsewhere, target).c_str(), path.c_str()), 0);
      for (const bool resume : {false, true}) {
        EXPECT_THAT(RunFolder::Open({.path = run, .resume = resume}).status(),
                    StatusIs(absl::StatusCode::kFailedPrecondition,
                             HasSubstr(absl::StrCat(path,
                                                    ": error: is a "
                                                    "symbolic link"))));
      }
      EXPECT_EQ(KindOfPath(path).value(), PathKind::kLink);
      EXPECT_EQ(PathExists(JoinPath(run, ".lock")),
                absl::string_view(entry) == ".lock");
      EXPECT_EQ(ReadFile(JoinPath(elsewhere, "file")).value(), "kept");
      EXPECT_FALSE(PathExists(JoinPath(elsewhere, "nothing")));
      EXPECT_THAT(ListDirectory(JoinPath(elsewhere, "folder")).value(),
                  IsEmpty());
    }
  }
}

TEST_F(RunFolderTest, TheFolderItselfMayBeALink) {
  FileOperations& files = SystemFiles();
  ASSERT_THAT(MakeDirectories(JoinPath(root_, "there"), files), IsOk());
  const std::string link = JoinPath(root_, "link");
  ASSERT_EQ(symlink("there", link.c_str()), 0);
  const auto folder = RunFolder::Open({.path = link});
  ASSERT_THAT(folder, IsOk());
  EXPECT_TRUE(PathExists(JoinPath(root_, "there/.lock")));
  // A user's folder without a run may contain links.
  ASSERT_THAT(MakeDirectories(JoinPath(root_, "own/mine"), files), IsOk());
  ASSERT_EQ(symlink("/nowhere", JoinPath(root_, "own/mine/x").c_str()), 0);
  EXPECT_THAT(RunFolder::Open({.path = JoinPath(root_, "own")}), IsOk());
}

TEST_F(RunFolderTest, ACheckpointRecordOfAnotherFormIsRefused) {
  const std::string path = JoinPath(root_, kCheckpointRecord);
  for (const char* text :
       {"", "{}", "{\"path\":\"x\"}", "{\"path\":1,\"id\":\"x\"}",
        "{\"path\":\"x\",\"id\":[]}", "{\"path\":null,\"id\":\"x\"}"}) {
    ASSERT_THAT(WriteFileAtomically(path, text), IsOk());
    EXPECT_THAT(CheckpointFolder(root_),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr(absl::StrCat(path, ":1:"))))
        << text;
  }
}

TEST_F(RunFolderTest, CheckpointsOfAnotherRunAreRefusedByBothNames) {
  const std::string there = JoinPath(root_, "there");
  ASSERT_THAT(MakeDirectories(there, SystemFiles()), IsOk());
  ASSERT_THAT(WriteFileAtomically(
                  JoinPath(root_, kCheckpointRecord),
                  absl::StrCat("{\"path\":\"", there, "\",\"id\":\"ours\"}")),
              IsOk());
  ASSERT_THAT(WriteFileAtomically(JoinPath(there, kCheckpointRecord),
                                  "{\"path\":\"a\",\"id\":\"theirs\"}"),
              IsOk());
  EXPECT_THAT(
      CheckpointFolder(root_),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               absl::StrCat(there,
                            ": error: holds checkpoints of another run, "
                            "a: its id is theirs, but the id of ",
                            root_, " is ours")));
}

TEST_F(RunFolderTest, AFolderThatHoldsARunTakesNoCheckpointsOfOthers) {
  const std::string run = JoinPath(root_, "run");
  const std::string there = JoinPath(root_, "there");
  for (const std::string& folder : {run, there}) {
    ASSERT_THAT(MakeDirectories(folder, SystemFiles()), IsOk());
  }
  ASSERT_THAT(WriteFileAtomically(JoinPath(there, "run.json"), ""), IsOk());
  EXPECT_THAT(RecordCheckpointFolder(run, there, "id"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/there: error: holds a run, or the ")));
  EXPECT_FALSE(PathExists(JoinPath(run, kCheckpointRecord)));
  EXPECT_FALSE(PathExists(JoinPath(there, kCheckpointRecord)));
}

// Training the same run twice gives two run folders with the same id. A run
// must not overwrite the record of the other run.
TEST_F(RunFolderTest, ARecordOfAnotherRunIsNotOverwrittenByItsTwin) {
  const std::string run = JoinPath(root_, "run");
  const std::string there = JoinPath(root_, "there");
  for (const std::string& folder : {run, there}) {
    ASSERT_THAT(MakeDirectories(folder, SystemFiles()), IsOk());
  }
  const std::string record = JoinPath(there, kCheckpointRecord);
  ASSERT_THAT(WriteFileAtomically(record, "{\"path\":\"/disk\",\"id\":\"id\"}"),
              IsOk());
  EXPECT_THAT(RecordCheckpointFolder(run, there, "id"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/there: error: holds a run, or the ")));
  // Simulates a process that died after it wrote this record, and before it
  // wrote the record in the run folder.
  ASSERT_THAT(WriteFileAtomically(
                  record, absl::StrCat("{\"path\":\"",
                                       std::filesystem::canonical(run).string(),
                                       "\",\"id\":\"id\"}")),
              IsOk());
  EXPECT_THAT(RecordCheckpointFolder(run, there, "id"), IsOk());
  EXPECT_THAT(CheckpointFolder(run), IsOk());
}

// A copied run has the same id as the original, but must not write to the
// checkpoints of the original.
TEST_F(RunFolderTest, TheCopyOfARunDoesNotWriteToItsCheckpoints) {
  const std::string run = JoinPath(root_, "run");
  const std::string copy = JoinPath(root_, "copy");
  const std::string there = JoinPath(root_, "there");
  for (const std::string& folder : {run, copy, there}) {
    ASSERT_THAT(MakeDirectories(folder, SystemFiles()), IsOk());
  }
  ASSERT_THAT(RecordCheckpointFolder(run, there, "id"), IsOk());
  std::filesystem::copy(JoinPath(run, kCheckpointRecord), copy);
  EXPECT_THAT(CheckpointFolderForWriting(run), IsOk());
  EXPECT_THAT(CheckpointFolder(copy), IsOk());
  EXPECT_THAT(CheckpointFolderForWriting(copy),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("resume it with --checkpoints=")));
  ASSERT_THAT(RecordCheckpointFolder(copy, there, "id"), IsOk());
  EXPECT_THAT(CheckpointFolderForWriting(copy), IsOk());
  EXPECT_THAT(CheckpointFolderForWriting(run),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("holds the checkpoints of ")));
}

TEST_F(RunFolderTest, ARecordHasNoPathThatItCannotHold) {
  const std::string run = JoinPath(root_, "run");
  const std::string there = JoinPath(root_, "\xff");
  for (const std::string& folder : {run, there}) {
    ASSERT_THAT(MakeDirectories(folder, SystemFiles()), IsOk());
  }
  for (const auto& [from, to] :
       {std::pair(run, there), std::pair(there, run)}) {
    EXPECT_THAT(RecordCheckpointFolder(from, to, "id"),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("must be UTF-8")));
    EXPECT_FALSE(PathExists(JoinPath(from, kCheckpointRecord)));
  }
}

TEST_F(RunFolderTest, AFolderThatWasMovedIsNotWrittenTo) {
  const std::string path = JoinPath(root_, "run");
  const auto folder = RunFolder::Open({.path = path});
  ASSERT_THAT(folder, IsOk());
  EXPECT_THAT(folder->Write("a.txt", "a"), IsOk());
  std::filesystem::rename(path, JoinPath(root_, "moved"));
  EXPECT_THAT(folder->Write("a.txt", "b"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("/run: error: has been moved or removed")));
  const auto other = RunFolder::Open({.path = path});
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(folder->CheckNotMoved(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has been moved or removed")));
  EXPECT_THAT(other->CheckNotMoved(), IsOk());
  EXPECT_EQ(ReadFile(JoinPath(root_, "moved/a.txt")).value(), "a");
}

TEST_F(RunFolderTest, APipeInARunIsRefused) {
  ASSERT_EQ(mkfifo(JoinPath(root_, "metrics.jsonl").c_str(), 0600), 0);
  EXPECT_THAT(RunFolder::Open({.path = root_, .resume = true}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is neither a file nor a folder")));
}

TEST_F(RunFolderTest, ARunThatLostItsConfigIsNotBegunAnew) {
  EXPECT_THAT(CheckConfigNotLost(root_), IsOk());
  ASSERT_THAT(WriteFileAtomically(JoinPath(root_, "status.json"), ""), IsOk());
  EXPECT_THAT(CheckConfigNotLost(root_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("resolved.textproto: error: is missing")));
}

TEST_F(RunFolderTest, AFileInTheWayIsAnError) {
  ASSERT_THAT(WriteFileAtomically(JoinPath(root_, "file"), ""), IsOk());
  EXPECT_THAT(
      RunFolder::Open({.path = JoinPath(root_, "file")}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("/file: ")));
}

}  // namespace
}  // namespace regard
