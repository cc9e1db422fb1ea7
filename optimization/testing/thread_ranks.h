// Ranks that are threads of one process, for tests.
#ifndef OPTIMIZATION_TESTING_THREAD_RANKS_H_
#define OPTIMIZATION_TESTING_THREAD_RANKS_H_

#include "absl/functional/function_ref.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Calls work(ranks) for each of `size` ranks, at the same time, and returns
// when all calls have returned. The exchanges between ranks allocate nothing.
void RunRanks(int size, absl::FunctionRef<void(Ranks& ranks)> work);

}  // namespace regard

#endif  // OPTIMIZATION_TESTING_THREAD_RANKS_H_
