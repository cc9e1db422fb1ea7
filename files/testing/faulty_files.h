// Files with one failing operation, for tests of how programs handle errors.
#ifndef FILES_TESTING_FAULTY_FILES_H_
#define FILES_TESTING_FAULTY_FILES_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "files/file.h"

namespace regard {

// The kinds of failures. Before a write fails, half of its bytes are written.
// Exceptions: no bytes are written with kInterrupted, or in the operations
// after the k-th with kGone.
enum class FileFaultKind {
  kIoError,      // EIO
  kDiskFull,     // ENOSPC, for operations that may need space
  kInterrupted,  // EINTR, for operations that signals may interrupt
  kShort,        // a read or write handles only half of its bytes
  // EIO for this and all later operations, as if the disk were removed
  kGone,
  kKilled,  // SIGKILL instead of the operation
};

// Sync() does not wait for the disk, because no test cuts the power.
// Thread-safe.
class FaultyFiles : public FileOperations {
 public:
  // Makes one operation fail, the k-th of the operations to which the fault
  // applies, counted from 1.
  FaultyFiles(FileFaultKind fault, int k) : fault_(fault), k_(k) {}

  // The number of operations so far to which the fault applies.
  int operations() const { return count_; }
  bool reached() const { return count_ >= k_; }

  int Open(const std::string& path, int flags) override;
  ssize_t ReadAt(int descriptor, char* bytes, size_t count,
                 int64_t offset) override;
  int Status(const std::string& path, struct stat* info) override;
  int CreateUnnamed() override;
  ssize_t WriteAt(int descriptor, const char* bytes, size_t count,
                  int64_t offset) override;
  int Truncate(int descriptor, int64_t bytes) override;
  int Sync(int descriptor) override;
  int Close(int descriptor) override;
  int Rename(const std::string& from, const std::string& to) override;
  int MakeDirectory(const std::string& path) override;
  int MakeLink(const std::string& target, const std::string& path) override;
  int Remove(const std::string& path) override;

 private:
  // The properties of an operation that determine which faults, besides EIO,
  // apply to it.
  struct Traits {
    bool needs_room = false;
    bool interruptible = false;
    bool divisible = false;
  };

  // Counts the operation. Returns true and sets errno if the operation must
  // fail.
  bool MaybeInjectFault(Traits traits);

  const FileFaultKind fault_;
  const int k_;
  std::atomic<int> count_ = 0;
};

}  // namespace regard

#endif  // FILES_TESTING_FAULTY_FILES_H_
