// A value on a tape, and access to its gradient.
#ifndef AUTODIFF_VAR_H_
#define AUTODIFF_VAR_H_

#include <algorithm>
#include <cstdint>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/types/span.h"
#include "autodiff/node.h"
#include "autodiff/shape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

// Fails a check, because an operand of `operation` is absent or is on another
// tape than the first operand. Out of line, so that a check that passes costs
// one branch.
[[noreturn]] ABSL_ATTRIBUTE_COLD ABSL_ATTRIBUTE_NOINLINE void RefuseOperand(
    const char* operation, bool absent);

// Adds f(i) to to[i], or assigns it, for 0 <= i < n.
template <typename T, typename F>
void AddOrAssign(bool accumulate, int64_t n, T* __restrict to, F f) {
  if (accumulate) {
    for (int64_t i = 0; i < n; ++i) to[i] += f(i);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = f(i);
  }
}

// Returns `product`, which is g times a derivative, or 0 if g is 0. The
// derivative may be infinite or NaN. For example, a score of -inf has weight 0
// and must not contribute anything. Compiles without a branch, so that loops
// stay vectorized.
template <typename T>
T ZeroSafeProduct(T g, T product) {
  return g == T(0) ? T(0) : product;
}

// Access to the gradient of one operand inside a backward closure. The first
// contribution is assigned and later ones are added, so that gradients need not
// be zeroed beforehand.
template <typename T>
class GradRef {
 public:
  GradRef(Node<T>* node, int64_t cols)
      : node_(node->needs_grad ? node : nullptr), cols_(cols) {}
  // Treats the gradient as a single row.
  explicit GradRef(Node<T>* node) : GradRef(node, node->size) {}

  // False if the operand does not require a gradient.
  explicit operator bool() const { return node_ != nullptr; }

  // Adds f(i) to element i, 0 <= i < size, in row-major order.
  template <typename F>
  void AddEach(F f) {
    const bool accumulate = BeginContribution();
    AddOrAssign(accumulate, node_->size, node_->grad, f);
  }

  // Begins a contribution of a kernel that writes every element. If it returns
  // true, data() already contains a contribution, and the kernel must add to
  // it. Otherwise the kernel must assign.
  bool BeginContribution();

  // Begins a contribution of a kernel that writes only some elements. Returns
  // storage to add to, which is zeroed before the first contribution.
  T* BeginAdding() {
    if (!BeginContribution()) std::fill_n(node_->grad, node_->size, T(0));
    return node_->grad;
  }

  // Begins a contribution that writes only `rows` of the operand. Returns
  // storage to add to. A sparse gradient stays sparse.
  T* BeginRows(absl::Span<const int32_t> rows);

  T* data() const { return node_->grad; }

 private:
  Node<T>* node_;
  int64_t cols_;
};

// A node on the tape, viewed with a shape. Trivially copyable. It has the size
// of two pointers in optimized builds, so that it is passed in registers.
template <typename T>
class Var {
 public:
  Var() = default;
  // `shape` must live as long as the node.
  Var(Node<T>* node, const Shape* shape) : node_(node), shape_(shape) {
#ifndef NDEBUG
    tape_ = node->tape;
    index_ = node->index;
    serial_ = tape_->NodeSerial(index_);
#endif
  }

  // Whether this Var refers to a node. A default-constructed Var does not, and
  // represents an absent operand. Its tape(), needs_grad(), grad_ref() and
  // item() fail a check. In optimized builds its data(), size() and grad_data()
  // are undefined, because a check would prevent loops over elements from being
  // vectorized.
  bool has_value() const { return node_ != nullptr; }

  Tape<T>& tape() const { return *CheckedNode("tape()")->tape; }
  const Shape& shape() const {
    if (has_value()) node();  // checks that the node is still valid
    return *shape_;
  }
  int64_t dim(int axis) const { return shape()[axis]; }
  int64_t size() const { return node()->size; }
  int64_t rows() const { return shape().rows(); }
  int64_t cols() const { return shape().cols(); }
  bool needs_grad() const { return CheckedNode("needs_grad()")->needs_grad; }

  T* data() const { return node()->value; }
  absl::Span<T> span() const {
    return absl::MakeSpan(data(), static_cast<size_t>(size()));
  }
  // An element of the value viewed as [rows, cols].
  T& at(int64_t row, int64_t col) const { return data()[row * cols() + col]; }
  // The value of a one-element Var.
  T item() const {
    REGARD_CHECK_EQ(CheckedNode("item()")->size, 1) << "item() of " << shape();
    return *data();
  }

  // The gradient, or null if no contribution has reached it.
  const T* grad_data() const { return node()->touched ? node_->grad : nullptr; }
  GradRef<T> grad_ref() const { return {CheckedNode("grad_ref()"), cols()}; }

  // Returns a view of the same storage with another shape of equal size.
  Var Reshape(const Shape& shape) const {
    REGARD_CHECK_EQ(shape.size(), CheckedNode("Reshape()")->size)
        << shape << " of " << this->shape();
    Var out = *this;
    out.shape_ = tape().CopyShape(shape);
    return out;
  }

  Node<T>* node() const {
#ifndef NDEBUG
    REGARD_CHECK(node_ != nullptr) << "an empty Var";
    REGARD_CHECK_EQ(serial_, tape_->NodeSerial(index_))
        << "a Var is used after its tape was reset, rewound past it, or "
           "released it in a backward pass";
#endif
    return node_;
  }

 private:
  Node<T>* CheckedNode(const char* operation) const {
    if (ABSL_PREDICT_FALSE(node_ == nullptr)) RefuseOperand(operation, true);
    return node();
  }

  Node<T>* node_ = nullptr;
  const Shape* shape_ = &kScalarShape;
#ifndef NDEBUG
  // Rewind(), Reset() and backward passes may reuse or free the memory of a
  // node. The tape therefore compares this serial number with the serial number
  // of the node at `index_`.
  const Tape<T>* tape_ = nullptr;
  uint32_t index_ = 0;
  uint64_t serial_ = 0;
#endif
};

// Fails a check unless x, an operand of `operation`, exists and is on `tape`. A
// gradient does not pass from one tape to another.
template <typename T>
void CheckOperand(const char* operation, const Tape<T>& tape, Var<T> x) {
  const bool absent = !x.has_value();
  if (ABSL_PREDICT_FALSE(absent || x.node()->tape != &tape)) {
    RefuseOperand(operation, absent);
  }
}

// Checks each operand of `operation`, and returns their tape.
template <typename T, typename... Others>
Tape<T>& TapeOf(const char* operation, Var<T> first, Others... others) {
  if (ABSL_PREDICT_FALSE(!first.has_value())) RefuseOperand(operation, true);
  Tape<T>& tape = *first.node()->tape;
  (CheckOperand<T>(operation, tape, others), ...);
  return tape;
}

// Calls BeginAdding() for the gradient of x. Returns null if x is absent or
// needs no gradient.
template <typename T>
T* GradToAddTo(Var<T> x) {
  if (!x.has_value() || !x.needs_grad()) return nullptr;
  return x.grad_ref().BeginAdding();
}

template <typename T>
bool GradRef<T>::BeginContribution() {
  if (node_->is_leaf) {
    auto* const leaf = static_cast<LeafNode<T>*>(node_);
    if (leaf->touched_rows != nullptr) {
      std::fill_n(leaf->touched_rows, leaf->rows, uint8_t{1});
    }
  }
  node_->tape->NotifyBeginContribution(node_);
  if (node_->touched) return true;
  if (node_->grad == nullptr) node_->tape->AllocateUninitializedGrad(node_);
  node_->touched = true;
  return false;
}

template <typename T>
T* GradRef<T>::BeginRows(absl::Span<const int32_t> rows) {
  if (!node_->is_leaf) return BeginAdding();
  auto* const leaf = static_cast<LeafNode<T>*>(node_);
  if (leaf->touched_rows == nullptr || leaf->cols != cols_) {
    return BeginAdding();
  }
  for (const int32_t row : rows) leaf->touched_rows[row] = 1;
  leaf->touched = true;
  leaf->tape->NotifyBeginContribution(leaf);
  return leaf->grad;
}

}  // namespace regard

#endif  // AUTODIFF_VAR_H_
