#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/broadcast.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// Records y = value(a, b) for each element. The gradients of `a` and `b` are
// GradA()(g, a, b, y) and GradB()(g, a, b, y), where g is the gradient of y.
template <typename GradA, typename GradB, typename T, typename Value>
Var<T> SameShape(const char* name, Var<T> a, Var<T> b, Value value) {
  Tape<T>& tape = TapeOf(name, a, b);
  Var<T> y = tape.NewLike(a, a.needs_grad() || b.needs_grad());
  const T* a_data = a.data();
  const T* b_data = b.data();
  T* __restrict y_data = y.data();
  const int64_t size = a.size();
  for (int64_t i = 0; i < size; ++i) y_data[i] = value(a_data[i], b_data[i]);
  // The closure stores only nodes, so that the record is small.
  tape.Record(name, y, [a = a.node(), b = b.node()](Node<T>* y) {
    const T* g = y->grad;
    const T* a_data = a->value;
    const T* b_data = b->value;
    const T* y_data = y->value;
    if (GradRef<T> d(a); d) {
      d.AddEach([=](int64_t i) {
        return GradA()(g[i], a_data[i], b_data[i], y_data[i]);
      });
    }
    if (GradRef<T> d(b); d) {
      d.AddEach([=](int64_t i) {
        return GradB()(g[i], a_data[i], b_data[i], y_data[i]);
      });
    }
  });
  return y;
}

// The rows of an operand in memory. An element that is repeated within a row is
// copied to all elements of a buffer, so that functions always receive
// contiguous rows.
template <typename T>
class OperandRows {
 public:
  OperandRows(Var<T> operand, bool repeats, int64_t inner,
              ScratchScope<T>& scratch)
      : data_(operand.data()),
        inner_(inner),
        buffer_(repeats ? scratch.New(inner) : nullptr) {}

  const T* At(int64_t offset) const {
    if (buffer_ == nullptr) return data_ + offset;
    std::fill_n(buffer_, inner_, data_[offset]);
    return buffer_;
  }

 private:
  const T* data_;
  int64_t inner_;
  T* buffer_;
};

// Records an operation with at least one repeated operand.
template <typename GradA, typename GradB, typename T, typename Value>
Var<T> Broadcast(const char* name, Var<T> a, Var<T> b, Value value) {
  Tape<T>& tape = TapeOf(name, a, b);
  Var<T> y = tape.New(BroadcastShape(name, a.shape(), b.shape()),
                      a.needs_grad() || b.needs_grad());
  const auto loop = BroadcastLoop(name, y.shape(), {a.shape(), b.shape()});
  const int64_t inner = loop.inner();
  {
    ScratchScope<T> scratch(tape);
    const OperandRows<T> a_rows(a, loop.inner_stride(0) == 0, inner, scratch);
    const OperandRows<T> b_rows(b, loop.inner_stride(1) == 0, inner, scratch);
    loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[2]) {
      const T* a_row = a_rows.At(offsets[0]);
      const T* b_row = b_rows.At(offsets[1]);
      T* __restrict y_row = y.data() + row;
      for (int64_t j = 0; j < inner; ++j) y_row[j] = value(a_row[j], b_row[j]);
    });
  }
  tape.Record(name, y, [=] {
    ScratchScope<T> scratch(y.tape());
    const OperandRows<T> a_rows(a, loop.inner_stride(0) == 0, inner, scratch);
    const OperandRows<T> b_rows(b, loop.inner_stride(1) == 0, inner, scratch);
    T* __restrict terms = scratch.New(inner);
    // Adds the gradient of operand `k`, summed over its repetitions.
    const auto add_gradient = [&](int k, Var<T> operand, auto gradient) {
      auto d = operand.grad_ref();
      if (!d) return;
      const bool repeated = operand.size() != y.size();
      const bool sums_rows = repeated && loop.inner_stride(k) == 0;
      if (repeated) d.BeginAdding();
      const bool accumulate = repeated || d.BeginContribution();
      loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[2]) {
        const T* g = y.grad_data() + row;
        const T* a_row = a_rows.At(offsets[0]);
        const T* b_row = b_rows.At(offsets[1]);
        const T* y_row = y.data() + row;
        for (int64_t j = 0; j < inner; ++j) {
          terms[j] = gradient(g[j], a_row[j], b_row[j], y_row[j]);
        }
        T* const to = d.data() + offsets[k];
        if (sums_rows) {
          *to += SumRow(terms, inner);
        } else {
          AddOrAssign(accumulate, inner, to,
                      [=](int64_t j) { return terms[j]; });
        }
      });
    };
    add_gradient(0, a, GradA());
    add_gradient(1, b, GradB());
  });
  return y;
}

template <typename T, typename Value, typename GradA, typename GradB>
Var<T> Binary(const char* name, Var<T> a, Var<T> b, Value value,
              GradA /*grad_a*/, GradB /*grad_b*/) {
  return a.shape() == b.shape() ? SameShape<GradA, GradB>(name, a, b, value)
                                : Broadcast<GradA, GradB>(name, a, b, value);
}

}  // namespace

template <typename T>
Var<T> Add(Var<T> a, Var<T> b) {
  return Binary(
      "Add", a, b, [](T a, T b) { return a + b; },
      [](T g, T /*a*/, T /*b*/, T /*y*/) { return g; },
      [](T g, T /*a*/, T /*b*/, T /*y*/) { return g; });
}

template <typename T>
Var<T> Subtract(Var<T> a, Var<T> b) {
  return Binary(
      "Subtract", a, b, [](T a, T b) { return a - b; },
      [](T g, T /*a*/, T /*b*/, T /*y*/) { return g; },
      [](T g, T /*a*/, T /*b*/, T /*y*/) { return -g; });
}

template <typename T>
Var<T> Multiply(Var<T> a, Var<T> b) {
  return Binary(
      "Multiply", a, b, [](T a, T b) { return a * b; },
      [](T g, T /*a*/, T b, T /*y*/) { return ZeroSafeProduct(g, g * b); },
      [](T g, T a, T /*b*/, T /*y*/) { return ZeroSafeProduct(g, g * a); });
}

template <typename T>
Var<T> Divide(Var<T> a, Var<T> b) {
  return Binary(
      "Divide", a, b, [](T a, T b) { return a / b; },
      [](T g, T /*a*/, T b, T /*y*/) { return ZeroSafeProduct(g, g / b); },
      [](T g, T /*a*/, T b, T y) { return ZeroSafeProduct(g, -g * y / b); });
}

template <typename T>
Var<T> Maximum(Var<T> a, Var<T> b) {
  return Binary(
      "Maximum", a, b, [](T a, T b) { return a >= b || a != a ? a : b; },
      [](T g, T a, T b, T /*y*/) { return a >= b || a != a ? g : T(0); },
      [](T g, T a, T b, T /*y*/) { return a >= b || a != a ? T(0) : g; });
}

template <typename T>
Var<T> Minimum(Var<T> a, Var<T> b) {
  return Binary(
      "Minimum", a, b, [](T a, T b) { return a <= b || a != a ? a : b; },
      [](T g, T a, T b, T /*y*/) { return a <= b || a != a ? g : T(0); },
      [](T g, T a, T b, T /*y*/) { return a <= b || a != a ? T(0) : g; });
}

template <typename T>
Var<T> Where(Var<T> condition, Var<T> x, Var<T> y) {
  Tape<T>& tape = TapeOf("Where", x, y, condition);
  const Shape of_both = BroadcastShape("Where", x.shape(), y.shape());
  Var<T> out = tape.New(BroadcastShape("Where", condition.shape(), of_both),
                        x.needs_grad() || y.needs_grad());
  const auto loop = BroadcastLoop("Where", out.shape(),
                                  {condition.shape(), x.shape(), y.shape()});
  // For each element of the result, calls take(index in the result, whether the
  // element is taken from x, index in x, index in y).
  const auto for_each = [=](auto take) {
    loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[3]) {
      for (int64_t j = 0; j < loop.inner(); ++j) {
        const auto at = [&](int operand) {
          return offsets[operand] + j * loop.inner_stride(operand);
        };
        take(row + j, condition.data()[at(0)] > 0, at(1), at(2));
      }
    });
  };
  for_each([=](int64_t i, bool of_x, int64_t in_x, int64_t in_y) {
    out.data()[i] = of_x ? x.data()[in_x] : y.data()[in_y];
  });
  tape.Record("Where", out, [=] {
    T* const dx = GradToAddTo(x);
    T* const dy = GradToAddTo(y);
    const T* g = out.grad_data();
    for_each([=](int64_t i, bool of_x, int64_t in_x, int64_t in_y) {
      if (of_x && dx != nullptr) dx[in_x] += g[i];
      if (!of_x && dy != nullptr) dy[in_y] += g[i];
    });
  });
  return out;
}

REGARD_INSTANTIATE_FUNCTION(Add);
REGARD_INSTANTIATE_FUNCTION(Subtract);
REGARD_INSTANTIATE_FUNCTION(Multiply);
REGARD_INSTANTIATE_FUNCTION(Divide);
REGARD_INSTANTIATE_FUNCTION(Maximum);
REGARD_INSTANTIATE_FUNCTION(Minimum);
REGARD_INSTANTIATE_FUNCTION(Where);

}  // namespace regard
