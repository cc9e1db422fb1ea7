#include "autodiff/ops/linear.h"

#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/broadcast.h"
#include "autodiff/ops/leaf_products.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Returns a stored matrix [rows, cols], or its transpose if `transposed` is
// true.
template <typename T>
ConstMatrix<T> Seen(const T* data, int64_t rows, int64_t cols,
                    bool transposed) {
  const ConstMatrix<T> stored(data, rows, cols);
  return transposed ? stored.Transposed() : stored;
}

// Assigns the product of `a` and `b` to d [rows, cols], or adds it to d,
// depending on `mode`. If `transposed`, uses the transpose of the product.
template <typename T>
void AddProduct(T* d, int64_t rows, int64_t cols, bool transposed,
                ConstMatrix<T> a, ConstMatrix<T> b, GemmMode mode,
                ProductPrecision precision) {
  if (transposed) {
    Gemm(b.Transposed(), a.Transposed(), {d, rows, cols}, mode, T(1),
         precision);
  } else {
    Gemm(a, b, {d, rows, cols}, mode, T(1), precision);
  }
}

template <typename T>
GemmMode Mode(GradRef<T>& d) {
  return d.BeginContribution() ? GemmMode::kAdd : GemmMode::kAssign;
}

// For each product, calls f(index of the product, index of the matrix in a,
// index of the matrix in b).
template <typename F>
void ForEachMatrix(const StridedLoop<2>& loop, F f) {
  loop.ForEachRow([&](int64_t row, const int64_t(&offsets)[2]) {
    for (int64_t i = 0; i < loop.inner(); ++i) {
      f(row + i, offsets[0] + i * loop.inner_stride(0),
        offsets[1] + i * loop.inner_stride(1));
    }
  });
}

// Begins the gradient of an operand, and returns the mode of its products.
// Several products contribute to the gradient of a repeated operand.
template <typename T>
GemmMode BeginBatch(GradRef<T>& d, bool repeated) {
  if (!repeated) return Mode(d);
  d.BeginAdding();
  return GemmMode::kAdd;
}

template <typename T>
Var<T> BatchedMatMul(Var<T> a, Var<T> b, Transpositions transposed) {
  const int64_t m = a.dim(transposed.a ? -1 : -2);
  const int64_t k = a.dim(transposed.a ? -2 : -1);
  const int64_t n = b.dim(transposed.b ? -2 : -1);
  const Shape a_leading = a.shape().Remove(-1).Remove(-1);
  const Shape b_leading = b.shape().Remove(-1).Remove(-1);
  const Shape leading = BroadcastShape("MatMul", a_leading, b_leading);
  const auto loop = BroadcastLoop("MatMul", leading, {a_leading, b_leading});
  Tape<T>& tape = TapeOf("MatMul", a, b);
  const ProductPrecision precision = tape.precision();
  Var<T> y = tape.New(leading.Insert(-1, m).Insert(-1, n),
                      a.needs_grad() || b.needs_grad());
  const int64_t a_rows = a.dim(-2);
  const int64_t b_rows = b.dim(-2);
  ForEachMatrix(loop, [&](int64_t i, int64_t of_a, int64_t of_b) {
    Gemm<T>(Seen(a.data() + of_a * m * k, a_rows, a.cols(), transposed.a),
            Seen(b.data() + of_b * k * n, b_rows, b.cols(), transposed.b),
            {y.data() + i * m * n, m, n}, GemmMode::kAssign, T(1), precision);
  });
  const bool a_repeated = a_leading.size() != leading.size();
  const bool b_repeated = b_leading.size() != leading.size();
  tape.Record("MatMul", y, [=] {
    const T* g = y.grad_data();
    if (auto d = a.grad_ref()) {
      const GemmMode mode = BeginBatch(d, a_repeated);
      ForEachMatrix(loop, [&](int64_t i, int64_t of_a, int64_t of_b) {
        AddProduct<T>(
            d.data() + of_a * m * k, a_rows, a.cols(), transposed.a,
            {g + i * m * n, m, n},
            Seen(b.data() + of_b * k * n, b_rows, b.cols(), !transposed.b),
            mode, precision);
      });
    }
    if (auto d = b.grad_ref()) {
      const GemmMode mode = BeginBatch(d, b_repeated);
      ForEachMatrix(loop, [&](int64_t i, int64_t of_a, int64_t of_b) {
        AddProduct<T>(
            d.data() + of_b * k * n, b_rows, b.cols(), transposed.b,
            Seen(a.data() + of_a * m * k, a_rows, a.cols(), !transposed.a),
            {g + i * m * n, m, n}, mode, precision);
      });
    }
  });
  return y;
}

// Returns y = x W^T + addend, where W [out, in] is a part of a weight.
template <typename T>
Var<T> LinearWithPart(Var<T> x, const WeightPart<T>& part, Var<T> addend) {
  const int64_t in = part.cols;
  const int64_t out = part.rows;
  REGARD_CHECK(x.shape().rank() >= 1 && x.cols() == in)
      << "Linear of " << x.shape() << " with weight " << Shape({out, in});
  const Shape shape = x.shape().With(-1, out);
  const bool added = addend.has_value();
  const bool biased = added && addend.shape() == Shape({out});
  REGARD_CHECK(!added || biased || addend.shape() == shape)
      << "Linear adds " << addend.shape() << " to " << shape;
  Tape<T>& tape = TapeOf("Linear", x, part.weight);
  if (added) CheckOperand("Linear", tape, addend);
  Var<T> y = tape.New(shape, x.needs_grad() || part.weight.needs_grad() ||
                                 (added && addend.needs_grad()));
  const int64_t rows = x.rows();
  const ProductPrecision precision = tape.precision();
  const ConstMatrix<T> from(x.data(), rows, in);
  const MutableMatrix<T> to(y.data(), rows, out);
  const ConstMatrix<T> transposed =
      TransposedForProducts(part, rows, 1, precision);
  if (added) {
    GemmPlus<T>(from, transposed, {addend.data(), rows, out, biased ? 0 : out},
                to, precision);
  } else {
    Gemm<T>(from, transposed, to, GemmMode::kAssign, T(1), precision);
  }
  tape.Record("Linear", y, [=] {
    const ConstMatrix<T> g(y.grad_data(), rows, out);
    if (auto d = x.grad_ref()) {
      const GemmMode mode = Mode(d);
      Gemm<T>(g, PartForProducts(part, 1, precision), {d.data(), rows, in},
              mode, T(1), precision);
    }
    AddWeightGradient<T>(part, g, {x.data(), rows, in}, precision);
    if (!added) return;
    auto d = addend.grad_ref();
    if (!d) return;
    if (!biased) {
      d.AddEach([=](int64_t i) { return g.data[i]; });
      return;
    }
    T* __restrict d_bias = d.BeginAdding();
    for (int64_t i = 0; i < rows; ++i) {
      const T* g_row = g.data + i * out;
      for (int64_t j = 0; j < out; ++j) d_bias[j] += g_row[j];
    }
  });
  return y;
}

}  // namespace

template <typename T>
Var<T> MatMul(Var<T> a, Var<T> b, Transpositions transposed) {
  REGARD_CHECK(a.shape().rank() >= 2 && b.shape().rank() >= 2)
      << "MatMul of " << a.shape() << " and " << b.shape();
  REGARD_CHECK_EQ(a.dim(transposed.a ? -2 : -1), b.dim(transposed.b ? -1 : -2))
      << "inner extents in MatMul of " << a.shape() << " and " << b.shape();
  if (b.shape().rank() > 2 || transposed.a) {
    return BatchedMatMul(a, b, transposed);
  }
  const Var<T> y =
      BatchedMatMul(a.Reshape({a.rows(), a.cols()}), b, transposed);
  return y.Reshape(a.shape().With(-1, y.cols()));
}

template <typename T>
Var<T> Linear(Var<T> x, Var<T> weight, Var<T> addend) {
  REGARD_CHECK_EQ(weight.shape().rank(), 2)
      << "Linear with weight " << weight.shape();
  return LinearWithPart(x, WeightPart<T>(weight), addend);
}

template <typename T>
Var<T> Linear(Var<T> x, const WeightColumns<T>& columns, Var<T> addend) {
  const Shape& shape = columns.weight.shape();
  REGARD_CHECK_EQ(shape.rank(), 2) << "columns of a weight " << shape;
  REGARD_CHECK(columns.first >= 0 && columns.count >= 0 &&
               columns.first + columns.count <= shape[1])
      << columns.count << " columns from " << columns.first << " of a weight "
      << shape;
  return LinearWithPart(
      x,
      WeightPart<T>(columns.weight, 0, shape[0], columns.first, columns.count),
      addend);
}

#define REGARD_INSTANTIATE(T)                             \
  template Var<T> MatMul(Var<T>, Var<T>, Transpositions); \
  template Var<T> Linear(Var<T>, Var<T>, Var<T>);         \
  template Var<T> Linear(Var<T>, const WeightColumns<T>&, Var<T>);
REGARD_INSTANTIATE(float)
REGARD_INSTANTIATE(double)
#undef REGARD_INSTANTIATE

}  // namespace regard
