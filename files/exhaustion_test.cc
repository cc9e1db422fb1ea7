#include "files/exhaustion.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "gtest/gtest.h"

namespace regard {
namespace {

// Runs f on a new thread, where the test framework does not catch exceptions.
template <typename F>
void RunAndEnd(F f) {
  EndWithMessageIfExhausted();
  std::thread(f).join();
}

TEST(ExhaustionDeathTest, EndsWithAMessage) {
  EXPECT_EXIT(RunAndEnd([] { throw std::bad_alloc(); }),
              ::testing::ExitedWithCode(1), "^error: out of memory\n$");
  EXPECT_EXIT(RunAndEnd([] { throw std::system_error(std::error_code()); }),
              ::testing::ExitedWithCode(1),
              "^error: the system cannot start more threads");
}

TEST(ExhaustionDeathTest, OtherExceptionsAbort) {
  EXPECT_DEATH(RunAndEnd([] { throw std::runtime_error("other"); }), "^$");
}

}  // namespace
}  // namespace regard
