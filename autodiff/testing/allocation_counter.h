// Counts heap allocations of this program.
#ifndef AUTODIFF_TESTING_ALLOCATION_COUNTER_H_
#define AUTODIFF_TESTING_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace regard {

// Calls of operator new so far, on all threads; always 0 where a sanitizer
// brings an operator new of its own.
int64_t AllocationCount();

// Whether this build counts.
bool CountsAllocations();

}  // namespace regard

#endif  // AUTODIFF_TESTING_ALLOCATION_COUNTER_H_
