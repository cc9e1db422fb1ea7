// Files: reads whole files up to a size limit, and replaces files atomically.
// After a crash at any moment, a replaced file has either the old or the new
// bytes. Every error names the file.
//
// Only one process may write a path at a time, because these functions do not
// lock files.
#ifndef FILES_FILE_H_
#define FILES_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// The POSIX calls that read and change the disk. Tests derive from this class
// to make calls fail. Each function returns the result of its call and sets
// errno. A lint test rejects other calls that open files. Stateless, and
// therefore thread-safe.
class FileOperations {
 public:
  virtual ~FileOperations() = default;

  // Opens a file with O_CLOEXEC. The umask determines the mode of a new file.
  virtual int Open(const std::string& path, int flags) {
    return open(path.c_str(), flags | O_CLOEXEC, 0666);
  }
  virtual ssize_t ReadAt(int descriptor, char* bytes, size_t count,
                         int64_t offset) {
    return pread(descriptor, bytes, count, offset);
  }
  // The status of `path` itself: a symbolic link is not followed.
  virtual int Status(const std::string& path, struct stat* info) {
    return lstat(path.c_str(), info);
  }
  // Creates a file without a name. It is removed when it is closed.
  virtual int CreateUnnamed();
  virtual ssize_t WriteAt(int descriptor, const char* bytes, size_t count,
                          int64_t offset) {
    return pwrite(descriptor, bytes, count, offset);
  }
  virtual int Truncate(int descriptor, int64_t bytes) {
    return ftruncate(descriptor, bytes);
  }
  virtual int Sync(int descriptor) { return fsync(descriptor); }
  virtual int Close(int descriptor) { return close(descriptor); }
  virtual int Rename(const std::string& from, const std::string& to) {
    return rename(from.c_str(), to.c_str());
  }
  virtual int MakeDirectory(const std::string& path) {
    return mkdir(path.c_str(), 0777);
  }
  // Makes a symbolic link at `path`.
  virtual int MakeLink(const std::string& target, const std::string& path) {
    return symlink(target.c_str(), path.c_str());
  }
  // Removes a file or an empty directory.
  virtual int Remove(const std::string& path) { return remove(path.c_str()); }
};

// The operations of the system, or the replacement of a test.
FileOperations& SystemFiles();

// Replaces SystemFiles(), for a test of a whole program. `files` must outlive
// the program. Must be called before other threads run.
void ReplaceSystemFilesForTest(FileOperations& files);

// Returns the status of a call that failed with `error` (an errno): "PATH:
// cannot DO: REASON". The code is NotFound or FailedPrecondition for a wrong
// path. IsMachineFailure() is true for all other errors.
absl::Status FileError(const std::string& path, absl::string_view action,
                       int error);

// Returns the status of a write that failed. It is always a failure of the
// machine, unless `error` is ELOOP (a symbolic link).
absl::Status WriteError(const std::string& path, absl::string_view action,
                        int error);

// Whether the machine, and not the input, caused an error. Examples are a
// missing permission, a full or broken disk, and a program that is not
// installed.
bool IsMachineFailure(const absl::Status& status);

// An open file descriptor, closed by the destructor. Move-only.
class Descriptor {
 public:
  // Opens a file, and retries if a signal interrupts the call. If that fails,
  // `number()` is -1 and errno is set. `files` must outlive this object.
  Descriptor(const std::string& path, int flags, FileOperations& files);
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)), files_(other.files_) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) files_.Close(number_);
  }

  int number() const { return number_; }
  FileOperations& files() const { return files_; }

  int Close() { return files_.Close(Release()); }

  // Returns the descriptor. The caller must close it.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;  // -1 once closed or moved from
  FileOperations& files_;
};

// A regular file that is open for reading. Move-only.
class RandomAccessFile {
 public:
  // Opens a file. Returns InvalidArgument for a directory, pipe or device.
  // `files` must outlive the reader.
  static absl::StatusOr<RandomAccessFile> Open(
      const std::string& path, FileOperations& files = SystemFiles());

  const std::string& path() const { return path_; }

  // The number of bytes at the time of opening.
  int64_t size() const { return size_; }

  // The device and the inode. They are the same if two paths lead to one file.
  std::pair<uint64_t, uint64_t> identity() const { return identity_; }

  // Fills `bytes` with the bytes of the file that begin at `offset`. Returns
  // DataLoss if the file ends early.
  absl::Status ReadAt(int64_t offset, absl::Span<char> bytes) const;

 private:
  RandomAccessFile(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  std::string path_;
  Descriptor descriptor_;
  int64_t size_ = 0;
  std::pair<uint64_t, uint64_t> identity_;
};

// The largest size of a config, a vocabulary or a similar file.
inline constexpr int64_t kMaxTextFileBytes = int64_t{64} << 20;

// Returns the bytes of a regular file. If the file has more than `limit` bytes,
// returns InvalidArgument without reading it.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t limit = kMaxTextFileBytes,
                                     FileOperations& files = SystemFiles());

// Returns "PATH:LINE:COLUMN: error: PROBLEM" for the byte of `text` at
// `offset`. `first_line` is the number of the first line. Columns count bytes
// from 1.
std::string ErrorInText(absl::string_view path, absl::string_view text,
                        size_t offset, absl::string_view problem,
                        int64_t first_line = 1);

// Adds the prefix "error: " unless the message already contains it.
absl::Status EnsureErrorPrefix(const absl::Status& status);
template <typename T>
absl::StatusOr<T> EnsureErrorPrefix(absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return EnsureErrorPrefix(value.status());
}

// A file that is written by several calls of Append(). The destructor closes
// it. Move-only.
class FileWriter {
 public:
  // Creates an empty file. Truncates an existing file. Neither Create() nor
  // Resume() follows a symbolic link.
  static absl::StatusOr<FileWriter> Create(
      const std::string& path, FileOperations& files = SystemFiles());

  // Opens a file to continue after its first `bytes` bytes. Drops all later
  // bytes.
  static absl::StatusOr<FileWriter> Resume(const std::string& path,
                                           int64_t bytes,
                                           FileOperations& files);

  // Appends all of `bytes`. Readers can see them immediately. After an error,
  // removes a partial write if possible.
  absl::Status Append(absl::string_view bytes);

  // Writes the operating system's buffers for this file to the disk.
  absl::Status Sync();

  // Syncs and closes the file. Must be the last call.
  absl::Status Finish();

 private:
  FileWriter(std::string path, Descriptor descriptor, int64_t size)
      : path_(std::move(path)),
        descriptor_(std::move(descriptor)),
        size_(size) {}

  std::string path_;
  Descriptor descriptor_;
  int64_t size_;
};

// Replaces `path` atomically. Writes and syncs the sibling `PATH.tmp-PID`,
// renames it, and syncs the directory. After an error, `path` is unchanged, and
// the sibling is removed if possible. If only the sync of the directory fails,
// `path` already has the new bytes.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes,
                                 FileOperations& files = SystemFiles());

// Replaces `path` atomically with the bytes that `write` appends.
absl::Status WriteFileAtomically(
    const std::string& path, FileOperations& files,
    absl::FunctionRef<absl::Status(FileWriter&)> write);

// Makes `path` a symbolic link to `target`, and replaces a file or link at
// `path`. If `path` existed before the call, it exists at every moment of the
// call. After an error, nothing has changed.
absl::Status ReplaceLink(const std::string& path, const std::string& target,
                         FileOperations& files);

// Writes the names in a directory to the disk, so that renames persist.
absl::Status SyncDirectory(const std::string& path, FileOperations& files);

// Makes a directory and its parents. An existing directory is not an error.
absl::Status MakeDirectories(const std::string& path, FileOperations& files);

absl::Status RenameFile(const std::string& from, const std::string& to,
                        FileOperations& files);

// Removes a file or a directory tree. Does not follow links. A missing path is
// not an error.
absl::Status RemoveTree(const std::string& path, FileOperations& files);

// Returns the names in a directory, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(
    const std::string& path, FileOperations& files = SystemFiles());

enum class PathKind { kNothing, kFile, kDirectory, kLink, kOther };

// Returns the kind of a path. A symbolic link is not followed.
absl::StatusOr<PathKind> KindOfPath(const std::string& path,
                                    FileOperations& files = SystemFiles());

// Whether `path` is a directory. False for a link to a directory.
bool IsDirectory(const std::string& path);

// Whether a file, directory or link exists at `path`. A dangling link counts,
// too. Also true if an error prevents the check: opening the path then reports
// the error.
bool PathExists(const std::string& path);

// Resolves a path that the user gave. A relative path is relative to the
// directory of the user's command, which is BUILD_WORKING_DIRECTORY under
// `bazel run`.
std::string ResolveUserPath(absl::string_view path);

// Returns `folder/name`, without doubling a slash.
std::string JoinPath(absl::string_view folder, absl::string_view name);

}  // namespace regard

#endif  // FILES_FILE_H_
