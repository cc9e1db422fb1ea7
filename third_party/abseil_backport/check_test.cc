#include "third_party/abseil_backport/check.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_macros.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckTest, PassesSilentlyAndEvaluatesOnce) {
  int calls = 0;
  REGARD_CHECK(++calls == 1) << "unused";
  REGARD_CHECK_EQ(++calls, 2) << "unused";
  EXPECT_EQ(calls, 2);
}

// Only debug builds must print the line number, because an edited comment moves
// lines and must not change optimized code.
TEST(CheckDeathTest, PrintsPlaceConditionAndMessage) {
#ifdef NDEBUG
  const char* const place = "check_test.cc: ";
#else
  const char* const place = "check_test.cc:[0-9]+: ";
#endif
  EXPECT_DEATH(REGARD_CHECK(1 > 2) << "by design",
               absl::StrCat(place,
                            "check failed in TestBody\\(\\): 1 > 2 by "
                            "design"));
}

TEST(CheckDeathTest, PrintsBothValues) {
  int rows = 3;
  EXPECT_DEATH(REGARD_CHECK_EQ(rows, 4) << "shape", "3 vs. 4.*shape");
}

absl::Status Twice(const absl::StatusOr<int>& in, int* out) {
  REGARD_ASSIGN_OR_RETURN(int value, in);
  REGARD_RETURN_IF_ERROR(value < 0 ? absl::OutOfRangeError("negative")
                                   : absl::OkStatus());
  *out = 2 * value;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, PassValuesAndErrorsOn) {
  int out = 0;
  EXPECT_THAT(Twice(4, &out), IsOk());
  EXPECT_EQ(out, 8);
  EXPECT_THAT(Twice(-1, &out),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("negative")));
  EXPECT_THAT(Twice(absl::NotFoundError("gone"), &out), Not(IsOk()));
}

}  // namespace
}  // namespace regard
