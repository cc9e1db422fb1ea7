// Counts the heap allocations of a training step after its buffers have reached
// their final size.
#ifndef OPTIMIZATION_TESTING_WARM_STEP_H_
#define OPTIMIZATION_TESTING_WARM_STEP_H_

#include <cstdint>

#include "absl/types/span.h"
#include "optimization/model.h"

namespace regard {

// Returns the number of heap allocations of the fourth forward and backward
// pass over `examples`. Always 0 if this build does not count allocations
// (CountsAllocations() in autodiff/testing/allocation_counter.h).
int64_t CountWarmStepAllocations(Model<float>& model,
                                 absl::Span<const int64_t> examples);

}  // namespace regard

#endif  // OPTIMIZATION_TESTING_WARM_STEP_H_
