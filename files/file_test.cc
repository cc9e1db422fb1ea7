#include "files/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ErrorInTextTest, CountsLinesAndBytesFromOne) {
  const auto place = [](absl::string_view text, size_t offset) {
    return ErrorInText("a", text, offset, "b");
  };
  EXPECT_EQ(place("", 0), "a:1:1: error: b");
  EXPECT_EQ(place("xy\nz", 1), "a:1:2: error: b");
  EXPECT_EQ(place("xy\nz", 2), "a:1:3: error: b");
  EXPECT_EQ(place("xy\nz", 3), "a:2:1: error: b");
  EXPECT_EQ(place("\n\néx", 4), "a:3:3: error: b");
}

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    const ::testing::TestInfo* const test =
        ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        JoinPath(::testing::TempDir(), absl::StrCat("file_", test->name()));
    EXPECT_THAT(RemoveTree(folder_, files_), IsOk());
    EXPECT_THAT(MakeDirectories(folder_, files_), IsOk());
  }

  std::string Path(const std::string& name) { return JoinPath(folder_, name); }

  FileOperations files_;
  std::string folder_;
};

TEST_F(FileTest, ReadsWhatItWrites) {
  const std::string bytes("a\0\xff\n", 4);
  ASSERT_THAT(WriteFileAtomically(Path("x"), bytes), IsOk());
  EXPECT_EQ(ReadFile(Path("x"), 4).value(), bytes);
  EXPECT_THAT(ListDirectory(folder_).value(), ElementsAre("x"));
}

TEST_F(FileTest, AnEmptyFileIsRead) {
  ASSERT_THAT(WriteFileAtomically(Path("x"), ""), IsOk());
  EXPECT_EQ(ReadFile(Path("x"), 0).value(), "");
}

TEST_F(FileTest, ALongerFileThanTheCapIsRefused) {
  ASSERT_THAT(WriteFileAtomically(Path("x"), "12345"), IsOk());
  EXPECT_THAT(ReadFile(Path("x"), 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("/x: has 5 bytes; at most 4")));
}

TEST_F(FileTest, APipeIsNotReplaced) {
  const std::string path = JoinPath(folder_, "pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(WriteFileAtomically(path, "text"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is not a regular file")));
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(FileTest, ErrorsNameTheFileAndTheReason) {
  EXPECT_THAT(ReadFile(Path("none"), 9),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/none: cannot open: No such file")));
  EXPECT_THAT(ReadFile(folder_, 9),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a directory, not a file")));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ReadFile(Path("pipe"), 9),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is not a regular file")));
  EXPECT_THAT(WriteFileAtomically(Path("none/x"), "a"),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("/none/x: cannot create")));
}

TEST_F(FileTest, MachineFailuresDifferFromWrongPaths) {
  for (const int error : {EACCES, EPERM, EIO, ESTALE, EMFILE, ENOMEM, ENOSPC,
                          EDQUOT, EROFS, EFBIG, EOVERFLOW, ETIMEDOUT}) {
    EXPECT_TRUE(IsMachineFailure(FileError("a", "read", error))) << error;
    EXPECT_TRUE(IsMachineFailure(WriteError("a", "write", error))) << error;
  }
  for (const int error : {ENOENT, ENOTDIR, EISDIR, ENAMETOOLONG}) {
    EXPECT_FALSE(IsMachineFailure(FileError("a", "open", error))) << error;
    EXPECT_TRUE(IsMachineFailure(WriteError("a", "create", error))) << error;
  }
  EXPECT_FALSE(IsMachineFailure(WriteError("a", "create", ELOOP)));
  EXPECT_FALSE(IsMachineFailure(absl::OkStatus()));
  EXPECT_FALSE(IsMachineFailure(absl::InvalidArgumentError("")));
  EXPECT_FALSE(IsMachineFailure(absl::DataLossError("")));
}

TEST_F(FileTest, DistinguishesKindsOfPathsWithoutFollowingLinks) {
  ASSERT_THAT(WriteFileAtomically(Path("x"), ""), IsOk());
  ASSERT_EQ(symlink("x", Path("link").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", Path("dangling").c_str()), 0);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(KindOfPath(Path("none")).value(), PathKind::kNothing);
  EXPECT_EQ(KindOfPath(Path("x/y")).value(), PathKind::kNothing);
  EXPECT_EQ(KindOfPath(Path("x")).value(), PathKind::kFile);
  EXPECT_EQ(KindOfPath(folder_).value(), PathKind::kDirectory);
  EXPECT_EQ(KindOfPath(Path("link")).value(), PathKind::kLink);
  EXPECT_EQ(KindOfPath(Path("dangling")).value(), PathKind::kLink);
  EXPECT_EQ(KindOfPath(Path("pipe")).value(), PathKind::kOther);
}

TEST_F(FileTest, NothingIsOpenedForWritingThroughALink) {
  ASSERT_THAT(WriteFileAtomically(Path("there"), "kept"), IsOk());
  for (const char* target : {"there", "nowhere"}) {
    const std::string link = Path(absl::StrCat("link_to_", target));
    ASSERT_EQ(symlink(Path(target).c_str(), link.c_str()), 0);
    for (const auto& opened : {FileWriter::Create(link, files_).status(),
                               FileWriter::Resume(link, 0, files_).status()}) {
      EXPECT_THAT(opened,
                  StatusIs(absl::StatusCode::kFailedPrecondition,
                           HasSubstr("Too many levels of symbolic links")));
    }
  }
  EXPECT_EQ(ReadFile(Path("there")).value(), "kept");
  EXPECT_FALSE(PathExists(Path("nowhere")));
}

TEST_F(FileTest, ModesFollowTheUmask) {
  const mode_t before = umask(027);
  ASSERT_THAT(WriteFileAtomically(Path("x"), "a"), IsOk());
  ASSERT_THAT(MakeDirectories(Path("d/e"), files_), IsOk());
  umask(before);
  struct stat info;
  ASSERT_EQ(stat(Path("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  ASSERT_EQ(stat(Path("d/e").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0750u);
}

TEST_F(FileTest, ExistingFoldersAreAcceptedAndFilesInTheWayRejected) {
  ASSERT_THAT(MakeDirectories(Path("d/e/"), files_), IsOk());
  EXPECT_THAT(MakeDirectories(Path("d/e"), files_), IsOk());
  ASSERT_THAT(WriteFileAtomically(Path("f"), ""), IsOk());
  EXPECT_FALSE(MakeDirectories(Path("f/g"), files_).ok());
}

TEST_F(FileTest, RemovingATreeFollowsNoLink) {
  ASSERT_THAT(MakeDirectories(Path("kept"), files_), IsOk());
  ASSERT_THAT(WriteFileAtomically(Path("kept/x"), ""), IsOk());
  ASSERT_THAT(MakeDirectories(Path("gone/deep"), files_), IsOk());
  ASSERT_EQ(symlink(Path("kept").c_str(), Path("gone/deep/link").c_str()), 0);
  ASSERT_THAT(RemoveTree(Path("gone"), files_), IsOk());
  EXPECT_FALSE(PathExists(Path("gone")));
  EXPECT_TRUE(PathExists(Path("kept/x")));
  EXPECT_THAT(RemoveTree(Path("gone"), files_), IsOk());
}

// Writes one byte per call. Every other call fails as if a signal interrupted
// it.
class HaltingFiles : public FileOperations {
 public:
  ssize_t WriteAt(int descriptor, const char* bytes, size_t count,
                  int64_t offset) override {
    interrupted_ = !interrupted_;
    if (interrupted_) {
      errno = EINTR;
      return -1;
    }
    return FileOperations::WriteAt(descriptor, bytes,
                                   std::min<size_t>(count, 1), offset);
  }

 private:
  bool interrupted_ = false;
};

TEST_F(FileTest, ShortAndInterruptedWritesAreContinued) {
  HaltingFiles halting;
  ASSERT_THAT(WriteFileAtomically(Path("x"), "hello", halting), IsOk());
  EXPECT_EQ(ReadFile(Path("x"), 9).value(), "hello");
}

// A disk with a capacity of `room` bytes.
class FullDisk : public FileOperations {
 public:
  explicit FullDisk(size_t room) : room_(room) {}
  ssize_t WriteAt(int descriptor, const char* bytes, size_t count,
                  int64_t offset) override {
    if (room_ == 0) {
      errno = ENOSPC;
      return -1;
    }
    const ssize_t written = FileOperations::WriteAt(
        descriptor, bytes, std::min(count, room_), offset);
    room_ -= written;
    return written;
  }

 private:
  size_t room_;
};

TEST_F(FileTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  ASSERT_THAT(WriteFileAtomically(Path("x"), "old"), IsOk());
  FullDisk disk(3);
  EXPECT_THAT(WriteFileAtomically(Path("x"), "newer", disk),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("cannot write: No space left on device")));
  EXPECT_EQ(ReadFile(Path("x"), 9).value(), "old");
  EXPECT_THAT(ListDirectory(folder_).value(), ElementsAre("x"));
}

TEST_F(FileTest, AFailedAppendLeavesTheFileUnchanged) {
  FullDisk disk(5);
  auto writer = FileWriter::Create(Path("x"), disk);
  ASSERT_THAT(writer, IsOk());
  ASSERT_THAT(writer->Append("one\n"), IsOk());
  EXPECT_THAT(writer->Append("two\n"),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("cannot write: No space left on device")));
  EXPECT_EQ(ReadFile(Path("x")).value(), "one\n");
}

// Fails to rename files.
class NoRenames : public FileOperations {
 public:
  int Rename(const std::string&, const std::string&) override {
    errno = EIO;
    return -1;
  }
};

TEST_F(FileTest, ALinkIsReplacedOrStaysAsItWas) {
  FileOperations files;
  ASSERT_THAT(ReplaceLink(Path("link"), "old", files), IsOk());
  ASSERT_THAT(ReplaceLink(Path("link"), "new", files), IsOk());
  EXPECT_EQ(std::filesystem::read_symlink(Path("link")), "new");
  NoRenames broken;
  EXPECT_THAT(ReplaceLink(Path("link"), "newer", broken).message(),
              HasSubstr("link: cannot replace the link: "));
  EXPECT_EQ(std::filesystem::read_symlink(Path("link")), "new");
  EXPECT_THAT(ListDirectory(folder_).value(), ElementsAre("link"));
  EXPECT_THAT(ReplaceLink(Path("none/link"), "new", files).message(),
              HasSubstr("link: cannot make a link: "));
}

TEST(ResolveUserPathTest, ARelativePathStartsInTheWorkingDirectoryOfTheUser) {
  setenv("BUILD_WORKING_DIRECTORY", "/home/lab", 1);
  EXPECT_EQ(ResolveUserPath("a/b"), "/home/lab/a/b");
  EXPECT_EQ(ResolveUserPath("/a/b"), "/a/b");
  EXPECT_EQ(ResolveUserPath(""), "");
  setenv("BUILD_WORKING_DIRECTORY", "/", 1);
  EXPECT_EQ(ResolveUserPath("a"), "/a");
  unsetenv("BUILD_WORKING_DIRECTORY");
  EXPECT_EQ(ResolveUserPath("a/b"), "a/b");
}

}  // namespace
}  // namespace regard
