// The order in which training examples are visited: a function of seed and
// epoch, so a run resumes from its step alone.
#ifndef EXPERIMENTS_TRAINING_EXAMPLE_ORDER_H_
#define EXPERIMENTS_TRAINING_EXAMPLE_ORDER_H_

#include <cstdint>
#include <vector>

namespace regard {

// Sets `order` to a permutation of 0 .. size - 1 (Fisher-Yates), cut to its
// first `count`.
void ExampleOrder(uint64_t seed, int64_t epoch, int64_t size, int64_t count,
                  std::vector<int64_t>* order);

}  // namespace regard

#endif  // EXPERIMENTS_TRAINING_EXAMPLE_ORDER_H_
