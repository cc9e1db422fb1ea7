#include "attention/kernels/weighted_values.h"

#include <algorithm>

#include "attention/kernels/finite_values.h"
#include "autodiff/kernels/gemm.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
Var<T> WeightedValues(Var<T> weights, const Mask& mask, Var<T> values,
                      const Positions& positions) {
  const Shape w = weights.shape();
  const Shape v = values.shape();
  REGARD_CHECK(w.rank() == 4 && v.rank() == 4 && w[0] == v[0] && v[1] > 0 &&
               w[1] % v[1] == 0 && w[3] == v[2])
      << "weights " << w << ", values " << v;
  Tape<T>* const tape = &TapeOf("WeightedValues", weights, values);
  const ProductPrecision precision = tape->precision();
  const int64_t heads = w[1];
  const int64_t group = heads / v[1];
  const int64_t queries = w[2];
  const int64_t keys = w[3];
  const int64_t width = v[3];
  const MaskReader reader(mask, positions, w[0], queries, keys);
  // Calls f(source, end) for each source, which is example * heads + head. The
  // queries of the source see only keys before `end`.
  const auto for_each_source = [=](auto f) {
    for (int64_t source = 0; source < w[0] * heads; ++source) {
      f(source, reader.Range(source / heads).end);
    }
  };
  Var<T> context = tape->New({w[0], heads, queries, width},
                             weights.needs_grad() || values.needs_grad());
  for_each_source([&](int64_t source, int64_t reach) {
    MultiplyValues(*tape,
                   ConstMatrix<T>(weights.data() + source * queries * keys,
                                  queries, reach, keys),
                   values.data() + source / group * keys * width, width,
                   context.data() + source * queries * width);
  });
  tape->Record("WeightedValues", context, [=] {
    const T* d_context = context.grad_data();
    auto d_weights = weights.grad_ref();
    const bool accumulate = d_weights && d_weights.BeginContribution();
    // If all queries see the same keys, the matrix product writes the gradient
    // directly, which saves two passes over it.
    const bool assign = !accumulate && reader.IsSameForAllQueries();
    if (d_weights && !accumulate && !assign) {
      std::fill_n(d_weights.data(), weights.size(), T(0));
    }
    T* const d_value = GradToAddTo(values);
    ScratchScope<T> scratch(*tape);
    T* const copy = scratch.New(keys * width);
    T* const products = scratch.New(assign ? 0 : queries * keys);
    for_each_source([&](int64_t source, int64_t reach) {
      const ConstMatrix<T> d_c(d_context + source * queries * width, queries,
                               width);
      if (d_value != nullptr) {
        Gemm(ConstMatrix<T>(weights.data() + source * queries * keys, queries,
                            reach, keys)
                 .Transposed(),
             d_c,
             MutableMatrix<T>(d_value + source / group * keys * width, reach,
                              width),
             GemmMode::kAdd, T(1), precision);
      }
      if (!d_weights) return;
      T* const d_source = d_weights.data() + source * queries * keys;
      const T* const value = values.data() + source / group * keys * width;
      const T* const finite = FiniteValues(value, reach * width, copy);
      Gemm(d_c, ConstMatrix<T>(finite, reach, width).Transposed(),
           MutableMatrix<T>(assign ? d_source : products, queries, reach, keys),
           GemmMode::kAssign, T(1), precision);
      for (int64_t q = 0; q < queries; ++q) {
        T* const d = d_source + q * keys;
        if (assign) {
          std::fill(d + reach, d + keys, T(0));
          continue;
        }
        const VisibleKeys visible = reader(source / heads, q);
        for (int64_t k = visible.begin; k < visible.end; ++k) {
          if (visible(k)) d[k] += products[q * keys + k];
        }
      }
    });
  });
  return context;
}

template <typename T>
Var<T> MeanOfFirstRows(Var<T> x, absl::Span<const int32_t> lengths) {
  const int64_t batch = x.dim(0);
  const int64_t time = x.dim(1);
  const int64_t width = x.dim(2);
  REGARD_CHECK_EQ(static_cast<int64_t>(lengths.size()), batch);
  const Var<T> weights = x.tape().Full({batch, 1, 1, time}, T(0));
  for (int64_t i = 0; i < batch; ++i) {
    const int32_t length = lengths[static_cast<size_t>(i)];
    REGARD_CHECK(length >= 0 && length <= time) << length << " of " << time;
    std::fill_n(weights.data() + i * time, length,
                T(1) / static_cast<T>(std::max(length, 1)));
  }
  return WeightedValues(weights, {.key_lengths = lengths},
                        x.Reshape({batch, 1, time, width}))
      .Reshape({batch, width});
}

REGARD_INSTANTIATE_FUNCTION(WeightedValues);
REGARD_INSTANTIATE_FUNCTION(MeanOfFirstRows);

}  // namespace regard
