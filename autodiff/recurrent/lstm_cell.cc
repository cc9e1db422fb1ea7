#include "autodiff/recurrent/lstm_cell.h"

#include <cstdint>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

template <typename T>
void LstmForward(int64_t width, const T* x, const T* product, const T* bias,
                 const LstmRow<T>& row, T* next) {
  T* const gates = row.gates;
  if (bias == nullptr) {
    for (int64_t i = 0; i < 4 * width; ++i) gates[i] = x[i] + product[i];
  } else {
    for (int64_t i = 0; i < 4 * width; ++i) {
      gates[i] = x[i] + (product[i] + bias[i]);
    }
  }
  const T* const forget = gates + width;
  const T* const candidate = gates + 2 * width;
  const T* const output = gates + 3 * width;
  Sigmoid(gates, gates, 2 * width);
  Tanh(candidate, gates + 2 * width, width);
  Sigmoid(output, gates + 3 * width, width);
  for (int64_t i = 0; i < width; ++i) {
    row.next_cell[i] = forget[i] * row.cell[i] + gates[i] * candidate[i];
  }
  Tanh(row.next_cell, row.tanh_cell, width);
  for (int64_t i = 0; i < width; ++i) next[i] = output[i] * row.tanh_cell[i];
}

template <typename T>
void LstmBackward(int64_t width, const LstmRow<T>& row, const T* d_next,
                  T* d_cell, T* d_gates) {
  const T* const gates = row.gates;
  for (int64_t k = 0; k < width; ++k) {
    const T i = gates[k];
    const T f = gates[width + k];
    const T g = gates[2 * width + k];
    const T o = gates[3 * width + k];
    const T t = row.tanh_cell[k];
    const T d = d_cell[k] + d_next[k] * o * (T(1) - t * t);
    d_gates[k] = d * g * (i * (T(1) - i));
    d_gates[width + k] = d * row.cell[k] * (f * (T(1) - f));
    d_gates[2 * width + k] = d * i * (T(1) - g * g);
    d_gates[3 * width + k] = d_next[k] * t * (o * (T(1) - o));
    d_cell[k] = d * f;
  }
}

REGARD_INSTANTIATE_FUNCTION(LstmForward);
REGARD_INSTANTIATE_FUNCTION(LstmBackward);

}  // namespace regard
