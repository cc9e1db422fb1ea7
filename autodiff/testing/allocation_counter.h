// Counts heap allocations of this program.
#ifndef AUTODIFF_TESTING_ALLOCATION_COUNTER_H_
#define AUTODIFF_TESTING_ALLOCATION_COUNTER_H_

#include <cstdint>

namespace regard {

// Calls of operator new so far, on all threads.
int64_t AllocationCount();

}  // namespace regard

#endif  // AUTODIFF_TESTING_ALLOCATION_COUNTER_H_
