// Puts NaN and infinities into what a function computes, one at a time, and
// checks that a FaultFinder names each.
#ifndef AUTODIFF_TESTING_FAULT_DRILL_H_
#define AUTODIFF_TESTING_FAULT_DRILL_H_

#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "autodiff/tape.h"

namespace regard {

struct FaultDrill {
  int faults = 0;                    // that had to be named
  std::set<std::string> operations;  // they were put into
  int legal = 0;                     // scores of -inf, of which none may be
  std::vector<std::string> failures;
};

// `run` computes a function forward and backward on a tape that is new to it,
// each time by the same operations. NaN, inf and -inf are put into the first
// element of each of their values, and of each gradient that they contribute
// to; if `once_a_name`, only once for each name of an operation. -inf is put
// into scores (see Tape::BeginScores()), too, where it is legal. An infinity in
// what scores are made of is not, as it may be legal.
template <typename T>
FaultDrill DrillFaults(absl::FunctionRef<void(Tape<T>&)> run,
                       bool once_a_name = false);

}  // namespace regard

#endif  // AUTODIFF_TESTING_FAULT_DRILL_H_
