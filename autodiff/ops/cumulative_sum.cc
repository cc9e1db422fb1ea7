#include "autodiff/ops/cumulative_sum.h"

#include <algorithm>
#include <cstdint>

namespace regard {

template <typename T>
Var<T> CumulativeSum(Var<T> x, int axis) {
  Tape<T>& tape = x.tape();
  Var<T> y = tape.New(x.shape(), x.needs_grad());
  const int64_t count = x.dim(axis);
  const int64_t inner = x.shape().Stride(axis);
  const int64_t size = count * inner;
  const int64_t outer = size == 0 ? 0 : x.size() / size;
  for (int64_t i = 0; i < outer * size; ++i) {
    const bool first = i % size < inner;
    y.data()[i] = first ? x.data()[i] : y.data()[i - inner] + x.data()[i];
  }
  Tape<T>* const owner = &tape;
  tape.Record("CumulativeSum", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const bool accumulate = d.BeginContribution();
    ScratchScope<T> scratch(*owner);
    T* const rest = scratch.New(inner);
    // Element i of x contributes to the sums i, i + 1, ...
    for (int64_t o = 0; o < outer; ++o) {
      std::fill_n(rest, inner, T(0));
      for (int64_t i = count - 1; i >= 0; --i) {
        const T* const g = y.grad_data() + o * size + i * inner;
        for (int64_t j = 0; j < inner; ++j) rest[j] += g[j];
        AddOrAssign(accumulate, inner, d.data() + o * size + i * inner,
                    [=](int64_t j) { return rest[j]; });
      }
    }
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(CumulativeSum);

}  // namespace regard
