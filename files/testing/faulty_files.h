// Files of which one operation fails, to test what becomes of a program then.
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

// Half of a write arrives before it fails.
enum class FileFault {
  kIoError,      // EIO
  kDiskFull,     // ENOSPC, of an operation that may need room
  kInterrupted,  // EINTR, of one that POSIX lets a signal interrupt
  kShort,        // a read or a write of several bytes does half of them
  kGone,         // EIO of this and all that follow, as if the disk was gone
  kKilled,       // SIGKILL in its place
};

// Does not wait for the disk: no test cuts the power. Threads may share it.
class FaultyFiles : public FileOperations {
 public:
  // Strikes the k-th operation that the fault can strike, from 1.
  FaultyFiles(FileFault fault, int k) : fault_(fault), k_(k) {}

  // That it can strike, so far.
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
  // What an operation may meet besides errors of the device.
  struct Traits {
    bool needs_room = false;
    bool interruptible = false;
    bool divisible = false;
  };

  // Counts the operation. If it is struck, sets errno.
  bool Strikes(Traits traits);

  const FileFault fault_;
  const int k_;
  std::atomic<int> count_ = 0;
};

}  // namespace regard

#endif  // FILES_TESTING_FAULTY_FILES_H_
