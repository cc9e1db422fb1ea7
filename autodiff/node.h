// What a tape stores for each value.
#ifndef AUTODIFF_NODE_H_
#define AUTODIFF_NODE_H_

#include <algorithm>
#include <cstdint>

namespace regard {

template <typename T>
class Tape;

// Storage of one value and its gradient, shared by all views of the value.
template <typename T>
struct Node {
  T* value;
  T* grad;  // null until the first contribution
  Tape<T>* tape;
  int64_t size;
  uint32_t index;   // position among the tape's nodes, in order of creation
  bool needs_grad;  // whether a gradient is to be computed
  bool touched;     // whether a contribution has been written to `grad`
  // Whether inf and -inf are valid values, as -inf is for a score.
  bool infinity_is_legal;
  bool is_table;  // whether this is a TableNode
};

// A leaf of few touched rows. Rows of its gradient that are not marked hold
// zeros; until it is touched no row is marked.
template <typename T>
struct TableNode : Node<T> {
  uint8_t* touched_rows;
  int64_t rows;

  void MarkAllRows() { std::fill_n(touched_rows, rows, uint8_t{1}); }
};

}  // namespace regard

#endif  // AUTODIFF_NODE_H_
