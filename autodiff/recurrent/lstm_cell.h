// Elementwise part of one row (one step of one sequence) of a long short-term
// memory. The caller computes the products.
//
//   i, f, o = sigmoid(x + W h + b), g = tanh(x + W h + b)
//   c' = f * c + i * g
//   h' = o * tanh(c')
//
// x is the projected input with its bias. Rows of gates are [i, f, g, o].
#ifndef AUTODIFF_RECURRENT_LSTM_CELL_H_
#define AUTODIFF_RECURRENT_LSTM_CELL_H_

#include <cstdint>

namespace regard {

// What one step of one sequence reads and writes; all of `width` but gates.
template <typename T>
struct LstmRow {
  T* gates;      // [4 width]
  T* cell;       // c
  T* next_cell;  // c'
  T* tanh_cell;  // tanh(c')
};

// Sets gates, next_cell, tanh_cell and next = h'. product = W h; bias may be
// null.
template <typename T>
void LstmForward(int64_t width, const T* x, const T* product, const T* bias,
                 const LstmRow<T>& row, T* next);

// From d_next and d_cell (of c'): d_gates, before the activations, and d_cell
// of c in place. row.next_cell is not read.
template <typename T>
void LstmBackward(int64_t width, const LstmRow<T>& row, const T* d_next,
                  T* d_cell, T* d_gates);

}  // namespace regard

#endif  // AUTODIFF_RECURRENT_LSTM_CELL_H_
