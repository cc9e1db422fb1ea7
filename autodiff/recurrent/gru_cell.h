// Elementwise part of one row (one step of one sequence) of a gated recurrent
// unit. The caller computes the products.
//
//   r  = sigmoid(x_r + W_r s + b_r)
//   z  = sigmoid(x_z + W_z s + b_z)
//   n  = tanh(x_n + W_n (r * s) + b_n)      reset_before: Cho et al. 2014
//   n  = tanh(x_n + r * (W_n s + b_n))      reset_after: PyTorch, cuDNN
//   s' = z * s + (1 - z) * n
//
// x is the projected input with its bias. Rows of three gates are [r, z, n].
#ifndef AUTODIFF_RECURRENT_GRU_CELL_H_
#define AUTODIFF_RECURRENT_GRU_CELL_H_

#include <cstdint>

namespace regard {

// Whether the reset gate acts before the recurrent product or after it.
enum class GruForm { kResetBefore, kResetAfter };

// gates[0 .. 2w) = sigmoid(x + product + bias): r and z; bias may be null.
template <typename T>
void GruResetAndUpdate(int64_t width, const T* x, const T* product,
                       const T* bias, T* gates);

// candidate_part: W_n (r * s) in the form reset_before, r * (W_n s + b_n) in
// the other. Sets gates[2w .. 3w) = n and next = s'.
template <typename T>
void GruCandidate(int64_t width, const T* x, const T* candidate_part,
                  const T* state, T* gates, T* next);

// From d_next: d_gates[w .. 3w), the gradients before the activations of z and
// n, and d_state = z * d_next.
template <typename T>
void GruCandidateGradient(int64_t width, const T* gates, const T* state,
                          const T* d_next, T* d_gates, T* d_state);

// From `d_reset`, the gradient of r: d_gates[0 .. w), before its activation.
template <typename T>
void GruResetGradient(int64_t width, const T* gates, const T* d_reset,
                      T* d_gates);

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_GRU_CELL_H_
