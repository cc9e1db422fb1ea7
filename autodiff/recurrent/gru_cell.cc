#include "autodiff/recurrent/gru_cell.h"

#include <cstdint>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

template <typename T>
void GruResetAndUpdate(int64_t width, const T* x, const T* product,
                       const T* bias, T* gates) {
  if (bias == nullptr) {
    for (int64_t i = 0; i < 2 * width; ++i) gates[i] = x[i] + product[i];
  } else {
    for (int64_t i = 0; i < 2 * width; ++i) {
      gates[i] = x[i] + (product[i] + bias[i]);
    }
  }
  Sigmoid(gates, gates, 2 * width);
}

template <typename T>
void GruCandidate(int64_t width, const T* x, const T* candidate_part,
                  const T* state, T* gates, T* next) {
  const T* const update = gates + width;
  T* const candidate = gates + 2 * width;
  for (int64_t i = 0; i < width; ++i) {
    candidate[i] = x[2 * width + i] + candidate_part[i];
  }
  Tanh(candidate, candidate, width);
  for (int64_t i = 0; i < width; ++i) {
    next[i] = update[i] * state[i] + (T(1) - update[i]) * candidate[i];
  }
}

template <typename T>
void GruCandidateGradient(int64_t width, const T* gates, const T* state,
                          const T* d_next, T* d_gates, T* d_state) {
  const T* const update = gates + width;
  const T* const candidate = gates + 2 * width;
  T* const __restrict d_update = d_gates + width;
  T* const __restrict d_candidate = d_gates + 2 * width;
  for (int64_t i = 0; i < width; ++i) {
    const T z = update[i];
    const T n = candidate[i];
    const T d = d_next[i];
    d_update[i] = d * (state[i] - n) * (z * (T(1) - z));
    d_candidate[i] = d * (T(1) - z) * (T(1) - n * n);
    d_state[i] = d * z;
  }
}

template <typename T>
void GruResetGradient(int64_t width, const T* gates, const T* d_reset,
                      T* d_gates) {
  for (int64_t i = 0; i < width; ++i) {
    d_gates[i] = d_reset[i] * (gates[i] * (T(1) - gates[i]));
  }
}

REGARD_INSTANTIATE_FUNCTION(GruResetAndUpdate);
REGARD_INSTANTIATE_FUNCTION(GruCandidate);
REGARD_INSTANTIATE_FUNCTION(GruCandidateGradient);
REGARD_INSTANTIATE_FUNCTION(GruResetGradient);

}  // namespace regard
