#include "third_party/abseil_backport/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace regard::check_internal {

Failure::Failure(const char* file, int line, const std::string& what) {
  stream_ << file << ":" << line << ": check failed: " << what << " ";
}

Failure::~Failure() {
  std::fprintf(stderr, "%s\n", stream_.str().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace regard::check_internal
