#include "third_party/abseil_backport/check.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace regard::check_internal {

std::ostream& NewMessage(const char* file, int line, const char* function,
                         const char* condition) {
  std::ostream* const message = new std::ostringstream;
  *message << file << ":";
  if (line > 0) *message << line << ":";
  return *message << " check failed in " << function << "(): " << condition;
}

Failure::~Failure() {
  std::fprintf(stderr, "%s\n",
               static_cast<std::ostringstream&>(message_).str().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace regard::check_internal
