// Matchers for absl::Status and absl::StatusOr:
//
//   EXPECT_THAT(Validate(config), IsOk());
//   EXPECT_THAT(Parse(text), StatusIs(absl::StatusCode::kInvalidArgument,
//                                     HasSubstr("line 3")));
#ifndef THIRD_PARTY_ABSEIL_BACKPORT_STATUS_MATCHERS_H_
#define THIRD_PARTY_ABSEIL_BACKPORT_STATUS_MATCHERS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"

namespace regard::testing {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}

template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& statusor) {
  return statusor.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "has the code and message") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).code() == code &&
         ::testing::ExplainMatchResult(message_matcher,
                                       std::string(GetStatus(arg).message()),
                                       result_listener);
}

}  // namespace regard::testing

#endif  // THIRD_PARTY_ABSEIL_BACKPORT_STATUS_MATCHERS_H_
