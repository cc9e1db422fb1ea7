#include "experiments/run/file_operations.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace regard {

// The modes leave the choice to the user's umask.

int FileOperations::Create(const std::string& path) {
  return open(path.c_str(),
              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
}

int FileOperations::OpenDirectory(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

ssize_t FileOperations::Write(int descriptor, const char* bytes, size_t count) {
  return write(descriptor, bytes, count);
}

int FileOperations::Sync(int descriptor) { return fsync(descriptor); }

int FileOperations::Close(int descriptor) { return close(descriptor); }

int FileOperations::Rename(const std::string& from, const std::string& to) {
  return rename(from.c_str(), to.c_str());
}

int FileOperations::MakeDirectory(const std::string& path) {
  return mkdir(path.c_str(), 0777);
}

int FileOperations::Remove(const std::string& path) {
  return remove(path.c_str());
}

}  // namespace regard
