// Counts the heap allocations of the program.
#ifndef AUTODIFF_TESTING_ALLOCATION_COUNTER_H_
#define AUTODIFF_TESTING_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace regard {

// Returns the number of calls of operator new so far, on all threads. Always 0
// if a sanitizer provides its own operator new.
int64_t AllocationCount();

// Whether this build counts allocations.
bool CountsAllocations();

}  // namespace regard

#endif  // AUTODIFF_TESTING_ALLOCATION_COUNTER_H_
