// Checks of contracts inside the program. A failed check prints its location,
// the condition and both values, and aborts. Replaces absl/log/check.h. The
// names have the project's prefix, so they cannot clash with Abseil's names.
//
//   REGARD_CHECK(ready) << "call Reset() first";
//   REGARD_CHECK_EQ(query.cols(), key.cols()) << "dot score";
//
// Invalid data from outside the program must not fail a check: it is reported
// by a Status.
//
// The message names file and function. Only debug builds add the line, because
// an edited comment must not change the compiled code of a computation
// (docs/decisions/0021-what-computes-has-a-digest.md).
#ifndef THIRD_PARTY_ABSEIL_BACKPORT_CHECK_H_
#define THIRD_PARTY_ABSEIL_BACKPORT_CHECK_H_

#include <ostream>

#include "absl/base/optimization.h"

namespace regard::check_internal {

// Begins the message of a failed check. The message is never freed, because the
// program ends. `line` is 0 if it is not known.
std::ostream& NewMessage(const char* file, int line, const char* function,
                         const char* condition);

// Prints the message of a failed check and aborts when destroyed.
class Failure {
 public:
  explicit Failure(std::ostream& message) : message_(message << " ") {}
  [[noreturn]] ~Failure();

  std::ostream& stream() { return message_; }

 private:
  std::ostream& message_;  // created by NewMessage()
};

// Makes both branches of the check's conditional expression void.
struct Voidify {
  void operator&(std::ostream&) {}
};

// Returns null if the comparison is true. Otherwise, returns the message with
// both sides.
template <typename A, typename B, typename Compare>
std::ostream* Compared(const A& a, const B& b, Compare compare,
                       const char* file, int line, const char* function,
                       const char* expression) {
  if (ABSL_PREDICT_TRUE(compare(a, b))) return nullptr;
  return &(NewMessage(file, line, function, expression)
           << " (" << a << " vs. " << b << ")");
}

}  // namespace regard::check_internal

#ifdef NDEBUG
#define REGARD_CHECK_PLACE_ __FILE__, 0, __func__
#else
#define REGARD_CHECK_PLACE_ __FILE__, __LINE__, __func__
#endif

#define REGARD_CHECK(condition)                                         \
  ABSL_PREDICT_TRUE(condition)                                          \
  ? (void)0                                                             \
  : ::regard::check_internal::Voidify() &                               \
          ::regard::check_internal::Failure(                            \
              ::regard::check_internal::NewMessage(REGARD_CHECK_PLACE_, \
                                                   #condition))         \
              .stream()

#define REGARD_CHECK_OP_(a, op, b)                                            \
  while (                                                                     \
      std::ostream* const regard_failed = ::regard::check_internal::Compared( \
          (a), (b), [](const auto& x, const auto& y) { return x op y; },      \
          REGARD_CHECK_PLACE_, #a " " #op " " #b))                            \
  ::regard::check_internal::Failure(*regard_failed).stream()

#define REGARD_CHECK_EQ(a, b) REGARD_CHECK_OP_(a, ==, b)
#define REGARD_CHECK_NE(a, b) REGARD_CHECK_OP_(a, !=, b)
#define REGARD_CHECK_LT(a, b) REGARD_CHECK_OP_(a, <, b)
#define REGARD_CHECK_LE(a, b) REGARD_CHECK_OP_(a, <=, b)
#define REGARD_CHECK_GT(a, b) REGARD_CHECK_OP_(a, >, b)
#define REGARD_CHECK_GE(a, b) REGARD_CHECK_OP_(a, >=, b)

// Checks in debug builds only. Other builds do not evaluate the operands.
#ifdef NDEBUG
#define REGARD_DCHECK(condition) \
  while (false) REGARD_CHECK(condition)
#define REGARD_DCHECK_EQ(a, b) \
  while (false) REGARD_CHECK_EQ(a, b)
#define REGARD_DCHECK_LT(a, b) \
  while (false) REGARD_CHECK_LT(a, b)
#else
#define REGARD_DCHECK(condition) REGARD_CHECK(condition)
#define REGARD_DCHECK_EQ(a, b) REGARD_CHECK_EQ(a, b)
#define REGARD_DCHECK_LT(a, b) REGARD_CHECK_LT(a, b)
#endif

#endif  // THIRD_PARTY_ABSEIL_BACKPORT_CHECK_H_
