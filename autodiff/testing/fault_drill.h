// Tests a FaultFinder: puts NaN and infinities into the values of a function,
// one at a time, and checks that the finder reports each fault.
#ifndef AUTODIFF_TESTING_FAULT_DRILL_H_
#define AUTODIFF_TESTING_FAULT_DRILL_H_

#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "autodiff/tape.h"

namespace regard {

struct FaultInjectionSummary {
  int faults = 0;                    // faults that had to be named
  std::set<std::string> operations;  // operations with faults
  int legal = 0;                     // legal scores of -inf, to be ignored
  std::vector<std::string> failures;
};

// Calls `run` once for each fault. `run` computes a function forward and
// backward on a new tape, and must use the same operations at each call. NaN,
// inf and -inf are put into the first element of each value, and of each
// gradient that an operation contributes to. If `once_a_name` is true, only the
// first value and the first gradient of each operation are tested. -inf is also
// put into scores, where it is legal (see Tape::NotifyBeginScores()).
// Infinities are not put into the operands of scores, because they may be legal
// there.
template <typename T>
FaultInjectionSummary InjectFaults(absl::FunctionRef<void(Tape<T>&)> run,
                                   bool once_a_name = false);

}  // namespace regard

#endif  // AUTODIFF_TESTING_FAULT_DRILL_H_
