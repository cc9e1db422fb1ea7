// Whole files: read under a size cap, and replaced so that a crash at any
// moment leaves the old bytes or the new ones. Every error names the file.
//
// One process writes a path at a time: nothing here locks.
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

// The POSIX calls that read and change the disk, so that a test can make the
// k-th of them fail: each returns what the call returns and sets errno. A lint
// test keeps all other opens of files out of the sources. Stateless; safe to
// share between threads.
class FileOperations {
 public:
  virtual ~FileOperations() = default;

  // With O_CLOEXEC; the mode of a file that is made is left to the umask.
  virtual int Open(const std::string& path, int flags) {
    return open(path.c_str(), flags | O_CLOEXEC, 0666);
  }
  virtual ssize_t ReadAt(int descriptor, char* bytes, size_t count,
                         int64_t offset) {
    return pread(descriptor, bytes, count, offset);
  }
  // The status of what has that name itself, not of what a link points to.
  virtual int Status(const std::string& path, struct stat* info) {
    return lstat(path.c_str(), info);
  }
  // A file for reading and writing that has no name: it is gone once closed.
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
  // Removes a file or an empty folder.
  virtual int Remove(const std::string& path) { return remove(path.c_str()); }
};

// Those of the system, or what a test of a whole program put in their place.
FileOperations& SystemFiles();

// `files` outlives the program; no other thread may run yet.
void ReplaceSystemFilesForTest(FileOperations& files);

// The status of a call that failed with `error` (an errno), located: "PATH:
// cannot DO: REASON". NotFound or FailedPrecondition for a path that is wrong;
// for all else a code of which IsMachineFailure() is true.
absl::Status FileError(const std::string& path, absl::string_view action,
                       int error);

// The same of a write: the machine's failure, unless a link is in the way.
absl::Status WriteError(const std::string& path, absl::string_view action,
                        int error);

// Whether an error is one of the machine (a right that is missing, a full or a
// broken disk, a program that is not installed), not of what was given or read.
bool IsMachineFailure(const absl::Status& status);

// An open descriptor, closed at the end. Move-only.
class Descriptor {
 public:
  // Opens a file, as often as a signal interrupts that; `number()` is -1, and
  // errno set, if it cannot be. `files` outlives this.
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

  // The number, which is the caller's to close.
  int Release() { return std::exchange(number_, -1); }

 private:
  int number_;  // -1 once closed or moved from
  FileOperations& files_;
};

// A regular file that is open for reading. Move-only.
class FileReader {
 public:
  // A folder, pipe or device is an InvalidArgument. `files` outlives this.
  static absl::StatusOr<FileReader> Open(const std::string& path,
                                         FileOperations& files = SystemFiles());

  const std::string& path() const { return path_; }

  // Bytes at the time of opening.
  int64_t size() const { return size_; }

  // The same for two names of one file: device and inode.
  std::pair<uint64_t, uint64_t> identity() const { return identity_; }

  // Fills `bytes` from byte `offset` on; a file that ends early is a DataLoss.
  absl::Status ReadAt(int64_t offset, absl::Span<char> bytes) const;

 private:
  FileReader(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  std::string path_;
  Descriptor descriptor_;
  int64_t size_ = 0;
  std::pair<uint64_t, uint64_t> identity_;
};

// The most bytes of a config, a vocabulary and the like that are read.
inline constexpr int64_t kMostTextFileBytes = int64_t{64} << 20;

// The bytes of a regular file of at most `limit` bytes; a longer one is an
// InvalidArgument before anything of it is read.
absl::StatusOr<std::string> ReadFile(const std::string& path,
                                     int64_t limit = kMostTextFileBytes,
                                     FileOperations& files = SystemFiles());

// "PATH:LINE:COLUMN: error: PROBLEM" for the byte of `text` at `offset`; lines
// count from `first_line`, columns, which are bytes, from 1.
std::string ErrorInText(absl::string_view path, absl::string_view text,
                        size_t offset, absl::string_view problem,
                        int64_t first_line = 1);

// Puts "error: " before the message, unless it is there, as in located ones.
absl::Status WithErrorPrefix(const absl::Status& status);
template <typename T>
absl::StatusOr<T> WithErrorPrefix(absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return WithErrorPrefix(value.status());
}

// A file that is being written in pieces, closed at the end. Move-only.
class FileWriter {
 public:
  // Starts an empty file; one that is there is emptied. Neither follows a link.
  static absl::StatusOr<FileWriter> Create(
      const std::string& path, FileOperations& files = SystemFiles());

  // Goes on with a file after its first `bytes` bytes, and removes the others.
  static absl::StatusOr<FileWriter> Resume(const std::string& path,
                                           int64_t bytes,
                                           FileOperations& files);

  // Writes all of `bytes`, at once visible to readers. After an error the file
  // ends with what was appended before, if the disk allows even that.
  absl::Status Append(absl::string_view bytes);

  // Puts the bytes on the disk itself.
  absl::Status Sync();

  // Syncs and closes. Nothing may follow.
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

// Replaces `path` by way of a sibling `PATH.tmp-PID`: written, synced, renamed,
// and the folder synced. After an error the old file stands (the new one where
// only the folder could not be synced), and the sibling is gone, unless
// removing it failed too.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes,
                                 FileOperations& files = SystemFiles());

// The same for bytes that `write` appends piece by piece.
absl::Status WriteFileAtomically(
    const std::string& path, FileOperations& files,
    absl::FunctionRef<absl::Status(FileWriter&)> write);

// Replaces the symbolic link or file `path` by a link to `target`, or makes it,
// so that it exists at any moment if it did before. After an error, nothing has
// changed.
absl::Status ReplaceLink(const std::string& path, const std::string& target,
                         FileOperations& files);

// Puts the names in a folder on the disk, so that a rename there lasts.
absl::Status SyncDirectory(const std::string& path, FileOperations& files);

// Makes a folder and those above it; one that exists is no error.
absl::Status MakeDirectories(const std::string& path, FileOperations& files);

absl::Status RenameFile(const std::string& from, const std::string& to,
                        FileOperations& files);

// Removes a file or a whole folder, following no link. Absence is no error.
absl::Status RemoveTree(const std::string& path, FileOperations& files);

// The names in a folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDirectory(
    const std::string& path, FileOperations& files = SystemFiles());

enum class PathKind { kNothing, kFile, kDirectory, kLink, kOther };

// What a path names, following no link at its end.
absl::StatusOr<PathKind> KindOfPath(const std::string& path,
                                    FileOperations& files = SystemFiles());

// True for a folder itself, false for a link to one.
bool IsDirectory(const std::string& path);

// True for anything of that name, a dangling link included, and where an error
// keeps from looking: what then opens it tells the error.
bool PathExists(const std::string& path);

// A path that the user gave: a relative one counts from where the command was
// typed, which under `bazel run` is BUILD_WORKING_DIRECTORY.
std::string ResolveUserPath(absl::string_view path);

// `folder/name`, without doubling a slash.
std::string JoinPath(absl::string_view folder, absl::string_view name);

}  // namespace regard

#endif  // FILES_FILE_H_
