#include "files/testing/faulty_files.h"

#include <fcntl.h>
#include <signal.h>

#include <cerrno>

namespace regard {

bool FaultyFiles::MaybeInjectFault(Traits traits) {
  if ((fault_ == FileFaultKind::kDiskFull && !traits.needs_room) ||
      (fault_ == FileFaultKind::kInterrupted && !traits.interruptible) ||
      (fault_ == FileFaultKind::kShort && !traits.divisible)) {
    return false;
  }
  const int number = ++count_;
  if (fault_ == FileFaultKind::kGone ? number < k_ : number != k_) return false;
  // A write of several bytes kills the process later, after half of the bytes
  // are written.
  if (fault_ == FileFaultKind::kKilled && !traits.divisible) raise(SIGKILL);
  errno = fault_ == FileFaultKind::kDiskFull      ? ENOSPC
          : fault_ == FileFaultKind::kInterrupted ? EINTR
                                                  : EIO;
  return true;
}

int FaultyFiles::Open(const std::string& path, int flags) {
  return MaybeInjectFault(
             {.needs_room = (flags & O_CREAT) != 0, .interruptible = true})
             ? -1
             : FileOperations::Open(path, flags);
}

ssize_t FaultyFiles::ReadAt(int descriptor, char* bytes, size_t count,
                            int64_t offset) {
  if (!MaybeInjectFault({.interruptible = true, .divisible = count > 1})) {
    return FileOperations::ReadAt(descriptor, bytes, count, offset);
  }
  if (fault_ == FileFaultKind::kKilled) raise(SIGKILL);
  return fault_ == FileFaultKind::kShort
             ? FileOperations::ReadAt(descriptor, bytes, count / 2, offset)
             : -1;
}

int FaultyFiles::Status(const std::string& path, struct stat* info) {
  return MaybeInjectFault({}) ? -1 : FileOperations::Status(path, info);
}

int FaultyFiles::CreateUnnamed() {
  return MaybeInjectFault({.needs_room = true})
             ? -1
             : FileOperations::CreateUnnamed();
}

ssize_t FaultyFiles::WriteAt(int descriptor, const char* bytes, size_t count,
                             int64_t offset) {
  if (!MaybeInjectFault({.needs_room = true,
                         .interruptible = true,
                         .divisible = count > 1})) {
    return FileOperations::WriteAt(descriptor, bytes, count, offset);
  }
  const int error = errno;
  const bool arrives = fault_ != FileFaultKind::kInterrupted && count_ == k_;
  const ssize_t half =
      arrives ? FileOperations::WriteAt(descriptor, bytes, count / 2, offset)
              : 0;
  if (fault_ == FileFaultKind::kShort) return half;
  if (fault_ == FileFaultKind::kKilled) raise(SIGKILL);
  errno = error;
  return -1;
}

int FaultyFiles::Truncate(int descriptor, int64_t bytes) {
  return MaybeInjectFault({.needs_room = true, .interruptible = true})
             ? -1
             : FileOperations::Truncate(descriptor, bytes);
}

int FaultyFiles::Sync(int) {
  return MaybeInjectFault({.needs_room = true, .interruptible = true}) ? -1 : 0;
}

// Closes the descriptor even if the call fails, as Linux does.
int FaultyFiles::Close(int descriptor) {
  const int closed = FileOperations::Close(descriptor);
  return MaybeInjectFault({.needs_room = true, .interruptible = true}) ? -1
                                                                       : closed;
}

int FaultyFiles::Rename(const std::string& from, const std::string& to) {
  return MaybeInjectFault({.needs_room = true})
             ? -1
             : FileOperations::Rename(from, to);
}

int FaultyFiles::MakeDirectory(const std::string& path) {
  return MaybeInjectFault({.needs_room = true})
             ? -1
             : FileOperations::MakeDirectory(path);
}

int FaultyFiles::MakeLink(const std::string& target, const std::string& path) {
  return MaybeInjectFault({.needs_room = true})
             ? -1
             : FileOperations::MakeLink(target, path);
}

int FaultyFiles::Remove(const std::string& path) {
  return MaybeInjectFault({}) ? -1 : FileOperations::Remove(path);
}

}  // namespace regard
