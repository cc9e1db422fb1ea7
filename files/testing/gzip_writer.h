// Gzip files for tests of what reads them.
#ifndef FILES_TESTING_GZIP_WRITER_H_
#define FILES_TESTING_GZIP_WRITER_H_

#include <zlib.h>

#include <string>

namespace regard {

// A member, with the fields of `header` if it is not null.
std::string Gzip(const std::string& content, gz_header* header = nullptr);

}  // namespace regard

#endif  // FILES_TESTING_GZIP_WRITER_H_
