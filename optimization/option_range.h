// Checks that an option of an optimizer or schedule is in its range. The fields
// of configs have the same ranges, as `(range)`.
#ifndef OPTIMIZATION_OPTION_RANGE_H_
#define OPTIMIZATION_OPTION_RANGE_H_

#include "third_party/abseil_backport/check.h"

namespace regard {

inline void CheckOption(const char* option, double value, double low,
                        double high) {
  REGARD_CHECK(value >= low && value <= high)
      << option << " is " << value << ", but must be from " << low << " to "
      << high;
}

}  // namespace regard

#endif  // OPTIMIZATION_OPTION_RANGE_H_
