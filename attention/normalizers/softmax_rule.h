// Softmax of a row and its gradient, for normalizers that are a softmax of
// modified scores.
#ifndef ATTENTION_NORMALIZERS_SOFTMAX_RULE_H_
#define ATTENTION_NORMALIZERS_SOFTMAX_RULE_H_

#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

// Replaces n >= 1 scores by exp(s_i) / sum_j exp(s_j).
template <typename T>
void ApplySoftmax(int64_t n, T* scores) {
  const T scale = T(1) / ExpAndSum(scores, MaxRow(scores, n), n, scores);
  for (int64_t i = 0; i < n; ++i) scores[i] *= scale;
}

// Replaces the gradients of the weights of a row by the gradients of its
// scores.
template <typename T>
void ApplySoftmaxGradient(int64_t n, const T* weights, T* gradients) {
  const T mean = DotRow(weights, static_cast<const T*>(gradients), n);
  for (int64_t i = 0; i < n; ++i) {
    gradients[i] = weights[i] * (gradients[i] - mean);
  }
}

}  // namespace regard

#endif  // ATTENTION_NORMALIZERS_SOFTMAX_RULE_H_
