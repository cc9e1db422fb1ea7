#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/broadcast.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/keep_zero.h"
#include "autodiff/tape.h"

namespace regard {

namespace {

// A rule gives the value y of (a, b) and, for the gradient g of y, those of a
// and b.
struct AddRule {
  static constexpr const char* kName = "Add";
  template <typename T>
  static T Value(T a, T b) {
    return a + b;
  }
  template <typename T>
  static T GradA(T g, T /*a*/, T /*b*/, T /*y*/) {
    return g;
  }
  template <typename T>
  static T GradB(T g, T /*a*/, T /*b*/, T /*y*/) {
    return g;
  }
};

struct SubtractRule {
  static constexpr const char* kName = "Subtract";
  template <typename T>
  static T Value(T a, T b) {
    return a - b;
  }
  template <typename T>
  static T GradA(T g, T /*a*/, T /*b*/, T /*y*/) {
    return g;
  }
  template <typename T>
  static T GradB(T g, T /*a*/, T /*b*/, T /*y*/) {
    return -g;
  }
};

struct MultiplyRule {
  static constexpr const char* kName = "Multiply";
  template <typename T>
  static T Value(T a, T b) {
    return a * b;
  }
  template <typename T>
  static T GradA(T g, T /*a*/, T b, T /*y*/) {
    return KeepZero(g, g * b);
  }
  template <typename T>
  static T GradB(T g, T a, T /*b*/, T /*y*/) {
    return KeepZero(g, g * a);
  }
};

struct DivideRule {
  static constexpr const char* kName = "Divide";
  template <typename T>
  static T Value(T a, T b) {
    return a / b;
  }
  template <typename T>
  static T GradA(T g, T /*a*/, T b, T /*y*/) {
    return KeepZero(g, g / b);
  }
  template <typename T>
  static T GradB(T g, T /*a*/, T b, T y) {
    return KeepZero(g, -g * y / b);
  }
};

template <typename T>
void SetLegalInfinity(Var<T> a, Var<T> b, Var<T> y) {
  y.node()->infinity_is_legal =
      a.node()->infinity_is_legal || b.node()->infinity_is_legal;
}

template <typename Rule, typename T>
Var<T> SameShape(Var<T> a, Var<T> b) {
  Tape<T>& tape = a.tape();
  Var<T> y = tape.NewLike(a, a.needs_grad() || b.needs_grad());
  SetLegalInfinity(a, b, y);
  const T* a_data = a.data();
  const T* b_data = b.data();
  T* __restrict y_data = y.data();
  const int64_t size = a.size();
  for (int64_t i = 0; i < size; ++i) {
    y_data[i] = Rule::Value(a_data[i], b_data[i]);
  }
  // The closure keeps nodes, which are all that it needs: so the record is
  // small.
  tape.Record(Rule::kName, y, [a = a.node(), b = b.node()](Node<T>* y) {
    const T* g = y->grad;
    const T* a_data = a->value;
    const T* b_data = b->value;
    const T* y_data = y->value;
    if (GradRef<T> d(a); d) {
      d.AddEach([=](int64_t i) {
        return Rule::GradA(g[i], a_data[i], b_data[i], y_data[i]);
      });
    }
    if (GradRef<T> d(b); d) {
      d.AddEach([=](int64_t i) {
        return Rule::GradB(g[i], a_data[i], b_data[i], y_data[i]);
      });
    }
  });
  return y;
}

// Where rows of an operand lie; one element repeated inside a row is spread
// out in a buffer, so that rules see rows only.
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

// Adds the gradient rows of one operand, summed over what it repeats.
template <typename T>
class GradRows {
 public:
  GradRows(GradRef<T> d, const BroadcastLoop<2>& loop, int operand,
           bool repeated)
      : inner_(loop.inner()),
        sums_rows_(loop.inner_stride(operand) == 0 && repeated),
        accumulate_(repeated) {
    if (repeated) {
      d.BeginPartial();
    } else {
      accumulate_ = d.MarkTouched();
    }
    grad_ = d.data();
  }

  void Add(int64_t offset, const T* row) const {
    T* __restrict grad = grad_ + offset;
    if (sums_rows_) {
      *grad += SumRow(row, inner_);
    } else if (accumulate_) {
      for (int64_t j = 0; j < inner_; ++j) grad[j] += row[j];
    } else {
      std::copy_n(row, inner_, grad);
    }
  }

 private:
  int64_t inner_;
  bool sums_rows_;
  bool accumulate_;
  T* grad_;
};

template <typename Rule, typename T>
Var<T> Broadcast(Var<T> a, Var<T> b) {
  Tape<T>& tape = a.tape();
  Var<T> y = tape.New(BroadcastShape(Rule::kName, a.shape(), b.shape()),
                      a.needs_grad() || b.needs_grad());
  SetLegalInfinity(a, b, y);
  const BroadcastLoop<2> loop(Rule::kName, y.shape(), {a.shape(), b.shape()});
  const int64_t inner = loop.inner();
  {
    ScratchScope<T> scratch(tape);
    const OperandRows<T> a_rows(a, loop.inner_stride(0) == 0, inner, scratch);
    const OperandRows<T> b_rows(b, loop.inner_stride(1) == 0, inner, scratch);
    loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[2]) {
      const T* a_row = a_rows.At(offsets[0]);
      const T* b_row = b_rows.At(offsets[1]);
      T* __restrict y_row = y.data() + row;
      for (int64_t j = 0; j < inner; ++j) {
        y_row[j] = Rule::Value(a_row[j], b_row[j]);
      }
    });
  }
  tape.Record(Rule::kName, y, [=] {
    ScratchScope<T> scratch(y.tape());
    const OperandRows<T> a_rows(a, loop.inner_stride(0) == 0, inner, scratch);
    const OperandRows<T> b_rows(b, loop.inner_stride(1) == 0, inner, scratch);
    T* __restrict term = scratch.New(inner);
    if (auto d = a.grad_ref()) {
      const GradRows<T> grad(d, loop, 0, a.size() != y.size());
      loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[2]) {
        const T* g = y.grad_data() + row;
        const T* a_row = a_rows.At(offsets[0]);
        const T* b_row = b_rows.At(offsets[1]);
        const T* y_row = y.data() + row;
        for (int64_t j = 0; j < inner; ++j) {
          term[j] = Rule::GradA(g[j], a_row[j], b_row[j], y_row[j]);
        }
        grad.Add(offsets[0], term);
      });
    }
    if (auto d = b.grad_ref()) {
      const GradRows<T> grad(d, loop, 1, b.size() != y.size());
      loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[2]) {
        const T* g = y.grad_data() + row;
        const T* a_row = a_rows.At(offsets[0]);
        const T* b_row = b_rows.At(offsets[1]);
        const T* y_row = y.data() + row;
        for (int64_t j = 0; j < inner; ++j) {
          term[j] = Rule::GradB(g[j], a_row[j], b_row[j], y_row[j]);
        }
        grad.Add(offsets[1], term);
      });
    }
  });
  return y;
}

template <typename Rule, typename T>
Var<T> Binary(Var<T> a, Var<T> b) {
  return a.shape() == b.shape() ? SameShape<Rule>(a, b) : Broadcast<Rule>(a, b);
}

}  // namespace

template <typename T>
Var<T> Add(Var<T> a, Var<T> b) {
  return Binary<AddRule>(a, b);
}

template <typename T>
Var<T> Subtract(Var<T> a, Var<T> b) {
  return Binary<SubtractRule>(a, b);
}

template <typename T>
Var<T> Multiply(Var<T> a, Var<T> b) {
  return Binary<MultiplyRule>(a, b);
}

template <typename T>
Var<T> Divide(Var<T> a, Var<T> b) {
  return Binary<DivideRule>(a, b);
}

template <typename T>
Var<T> Where(Var<T> condition, Var<T> x, Var<T> y) {
  Tape<T>& tape = x.tape();
  const Shape of_both = BroadcastShape("Where", x.shape(), y.shape());
  Var<T> out = tape.New(BroadcastShape("Where", condition.shape(), of_both),
                        x.needs_grad() || y.needs_grad());
  // It makes none itself.
  out.node()->infinity_is_legal = true;
  const BroadcastLoop<3> loop("Where", out.shape(),
                              {condition.shape(), x.shape(), y.shape()});
  // Calls take(element of the result, whether it is x's, elements of x and y).
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
    T* const dx = PartialGrad(x);
    T* const dy = PartialGrad(y);
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
REGARD_INSTANTIATE_FUNCTION(Where);

}  // namespace regard
