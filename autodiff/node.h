// What a tape keeps of each value.
#ifndef AUTODIFF_NODE_H_
#define AUTODIFF_NODE_H_

#include <algorithm>
#include <cstdint>

namespace regard {

template <typename T>
class Tape;

// Storage of one value and its gradient; shared by reshapes of the same value.
template <typename T>
struct Node {
  T* value;
  T* grad;  // null until first touched
  Tape<T>* tape;
  int64_t size;
  uint32_t index;   // counts the tape's nodes in order of creation
  bool needs_grad;  // whether Backward() should come here
  bool touched;     // whether `grad` holds something
  // Whether -inf and inf are values like others here, as -inf is in a score.
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
