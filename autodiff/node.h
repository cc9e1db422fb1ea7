// Nodes: the storage of each value on a tape, and of its gradient.
#ifndef AUTODIFF_NODE_H_
#define AUTODIFF_NODE_H_

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
  bool is_leaf;     // whether this is a LeafNode
  bool is_view;     // whether Tape::View() made this node
};

template <typename T>
struct LeafPart;
template <typename T>
class PackedWeight;

// A value whose storage outlives the records, such as a parameter.
template <typename T>
struct LeafNode : Node<T> {
  int64_t rows;  // as stored
  int64_t cols;
  // [rows], nonzero for rows whose gradient was written. All other rows of the
  // gradient contain zeros. Null unless the gradient is sparse.
  uint8_t* touched_rows;
  // State of matrix products with this leaf on the tape
  // (autodiff/ops/leaf_products.h).
  LeafPart<T>* parts;
  // The packed copies that products share. Null if the owner of the leaf keeps
  // no copies.
  PackedWeight<T>* packed;
};

}  // namespace regard

#endif  // AUTODIFF_NODE_H_
