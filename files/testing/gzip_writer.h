// Makes gzip files for tests of readers.
#ifndef FILES_TESTING_GZIP_WRITER_H_
#define FILES_TESTING_GZIP_WRITER_H_

#include <zlib.h>

#include <string>

namespace regard {

// Returns a gzip member, with the fields of `header` unless it is null.
std::string Gzip(const std::string& content, gz_header* header = nullptr);

}  // namespace regard

#endif  // FILES_TESTING_GZIP_WRITER_H_
