// The calls by which a run changes the disk, as one object, so that a test can
// make the k-th of them fail. Each is the POSIX call of that name: it returns
// what the call returns and sets errno.
#ifndef EXPERIMENTS_RUN_FILE_OPERATIONS_H_
#define EXPERIMENTS_RUN_FILE_OPERATIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace regard {

// Stateless as it stands; safe to share between threads.
class FileOperations {
 public:
  virtual ~FileOperations() = default;

  // Opens a file for writing, made anew or emptied, never through a link.
  virtual int Create(const std::string& path);
  virtual int OpenDirectory(const std::string& path);
  virtual ssize_t Write(int descriptor, const char* bytes, size_t count);
  virtual int Sync(int descriptor);
  virtual int Close(int descriptor);
  virtual int Rename(const std::string& from, const std::string& to);
  virtual int MakeDirectory(const std::string& path);
  // Removes a file or an empty folder.
  virtual int Remove(const std::string& path);
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_FILE_OPERATIONS_H_
