#include "files/exhaustion.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

namespace regard {
namespace {

[[noreturn]] void End(const char* message) {
  std::fputs(message, stderr);
  _exit(1);
}

}  // namespace

void EndWithMessageIfExhausted() {
  std::set_terminate([] {
    try {
      if (const auto thrown = std::current_exception()) {
        std::rethrow_exception(thrown);
      }
    } catch (const std::bad_alloc&) {
      End("error: out of memory\n");
    } catch (const std::system_error&) {
      // The standard library throws std::system_error if a thread cannot be
      // started.
      End("error: the system cannot start more threads; try --threads=1\n");
    } catch (...) {
    }
    std::abort();
  });
}

}  // namespace regard
