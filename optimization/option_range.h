// A check of the ranges of plain options. The same ranges apply to configs, as
// `(range)` of their fields.
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
