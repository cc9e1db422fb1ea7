// Additive scores of one query and n keys, and their gradients.
//
//   score[i] = sum_j vector[j] tanh(query[j] + keys[i, j])
//
// The forward and the backward pass read the keys once and keep intermediate
// results in registers. The backward pass computes tanh again. This takes a
// third of the time of loading a stored value from a shared cache or from
// memory.
#ifndef ATTENTION_KERNELS_ADDITIVE_SCORE_H_
#define ATTENTION_KERNELS_ADDITIVE_SCORE_H_

#include <cstdint>

namespace regard {

template <typename T>
struct AdditiveScoreOperands {
  const T* query;   // [width]
  const T* keys;    // [n, width]
  const T* vector;  // [width]
  int64_t n;
  int64_t width;
};

// Writes scores [n]. The bits of a score do not depend on other keys.
template <typename T>
void AdditiveScore(const AdditiveScoreOperands<T>& row, T* scores);

// Arrays to which the gradients are added. An array is null if its gradient is
// not needed. Arrays may overlap.
template <typename T>
struct AdditiveScoreGradients {
  T* query;
  T* keys;
  T* vector;
};

template <typename T>
void AdditiveScoreBackward(const AdditiveScoreOperands<T>& row,
                           const T* d_scores,
                           const AdditiveScoreGradients<T>& d);

}  // namespace regard

#endif  // ATTENTION_KERNELS_ADDITIVE_SCORE_H_
