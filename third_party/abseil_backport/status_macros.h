// Macros that return errors to the caller:
//
//   REGARD_RETURN_IF_ERROR(Validate(config));
//   REGARD_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
#ifndef THIRD_PARTY_ABSEIL_BACKPORT_STATUS_MACROS_H_
#define THIRD_PARTY_ABSEIL_BACKPORT_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define REGARD_RETURN_IF_ERROR(expression)         \
  do {                                             \
    absl::Status regard_status = (expression);     \
    if (!regard_status.ok()) return regard_status; \
  } while (false)

#define REGARD_STATUS_CONCAT_INNER_(a, b) a##b
#define REGARD_STATUS_CONCAT_(a, b) REGARD_STATUS_CONCAT_INNER_(a, b)

#define REGARD_ASSIGN_OR_RETURN(target, expression)                           \
  REGARD_ASSIGN_OR_RETURN_(REGARD_STATUS_CONCAT_(regard_statusor_, __LINE__), \
                           target, expression)

#define REGARD_ASSIGN_OR_RETURN_(statusor, target, expression) \
  auto statusor = (expression);                                \
  if (!statusor.ok()) return std::move(statusor).status();     \
  target = *std::move(statusor)

#endif  // THIRD_PARTY_ABSEIL_BACKPORT_STATUS_MACROS_H_
