#include "autodiff/ops/unit_lower_solve.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/gemm.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The number of rows that are solved as one block. Matrix products subtract the
// terms of earlier blocks.
constexpr int64_t kBlock = 16;

// to -= factor * from, for `count` elements.
template <typename T>
void SubtractRow(int64_t count, T factor, const T* from, T* to) {
  AddOrAssign(/*accumulate=*/true, count, to,
              [=](int64_t j) { return -factor * from[j]; });
}

// Solves (I + L) x = b in place: on entry, x [n, m] contains b.
template <typename T>
void Solve(int64_t n, int64_t m, const T* a, T* x) {
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = std::min(kBlock, n - first);
    if (first > 0) {
      Gemm(ConstMatrix<T>(a + first * n, count, first, n),
           ConstMatrix<T>(x, first, m),
           MutableMatrix<T>(x + first * m, count, m), GemmMode::kAdd, T(-1));
    }
    for (int64_t t = first; t < first + count; ++t) {
      for (int64_t s = first; s < t; ++s) {
        SubtractRow(m, a[t * n + s], x + s * m, x + t * m);
      }
    }
  }
}

// Solves (I + L)^T x = b in place: on entry, x [n, m] contains b.
template <typename T>
void SolveTransposed(int64_t n, int64_t m, const T* a, T* x) {
  for (int64_t first = (n - 1) / kBlock * kBlock; first >= 0; first -= kBlock) {
    const int64_t end = std::min(first + kBlock, n);
    const int64_t count = end - first;
    if (end < n) {
      Gemm(ConstMatrix<T>(a + end * n + first, n - end, count, n).Transposed(),
           ConstMatrix<T>(x + end * m, n - end, m),
           MutableMatrix<T>(x + first * m, count, m), GemmMode::kAdd, T(-1));
    }
    for (int64_t t = end - 1; t >= first; --t) {
      for (int64_t s = first; s < t; ++s) {
        SubtractRow(m, a[t * n + s], x + t * m, x + s * m);
      }
    }
  }
}

}  // namespace

template <typename T>
Var<T> UnitLowerSolve(Var<T> a, Var<T> b) {
  Tape<T>* const tape = &TapeOf("UnitLowerSolve", a, b);
  const Shape& shape = b.shape();
  REGARD_CHECK(shape.rank() >= 2 && a.shape() == shape.With(-1, shape[-2]))
      << "UnitLowerSolve of " << a.shape() << " and " << shape;
  const int64_t n = shape[-2];
  const int64_t m = shape[-1];
  const int64_t size = n * m;
  const int64_t matrices = size == 0 ? 0 : b.size() / size;
  Var<T> x = tape->NewLike(b, a.needs_grad() || b.needs_grad());
  std::copy_n(b.data(), b.size(), x.data());
  for (int64_t i = 0; i < matrices; ++i) {
    Solve(n, m, a.data() + i * n * n, x.data() + i * size);
  }
  tape->Record("UnitLowerSolve", x, [=] {
    // The gradients are db = (I + L)^-T dx, and da = -db x^T below the
    // diagonal.
    T* const d_a = GradToAddTo(a);
    T* const d_b = GradToAddTo(b);
    ScratchScope<T> scope(*tape);
    T* const d = scope.New(size);
    T* const products = scope.New(n * n);
    for (int64_t i = 0; i < matrices; ++i) {
      std::copy_n(x.grad_data() + i * size, size, d);
      SolveTransposed(n, m, a.data() + i * n * n, d);
      if (d_b != nullptr) {
        AddOrAssign(/*accumulate=*/true, size, d_b + i * size,
                    [=](int64_t j) { return d[j]; });
      }
      if (d_a == nullptr) continue;
      Gemm(ConstMatrix<T>(d, n, m),
           ConstMatrix<T>(x.data() + i * size, n, m).Transposed(),
           MutableMatrix<T>(products, n, n), GemmMode::kAssign, T(-1));
      for (int64_t t = 0; t < n; ++t) {
        AddOrAssign(/*accumulate=*/true, t, d_a + (i * n + t) * n,
                    [row = products + t * n](int64_t s) { return row[s]; });
      }
    }
  });
  return x;
}

REGARD_INSTANTIATE_FUNCTION(UnitLowerSolve);

}  // namespace regard
