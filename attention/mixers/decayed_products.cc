#include "attention/mixers/decayed_products.h"

#include <algorithm>

#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int64_t kBlock = 16;  // rows of a block, for channel decays

// Calls f(t, factors) for each row t, if there are no channel decays. For
// s <= t, M[t, s] is factors[s] * (q . k). `factors` is null if there is no
// decay.
template <typename T, typename F>
void ForEachRow(const DecayedProductOperands<T>& rows, T* scratch, F f) {
  T* const sums = scratch;
  T* const factors = sums + rows.count;
  for (int64_t t = 0; t < rows.count; ++t) {
    if (rows.decay_width == 0) {
      f(t, static_cast<const T*>(nullptr));
      continue;
    }
    const T g = rows.log_decay[t];
    for (int64_t s = 0; s < t; ++s) sums[s] += g;
    sums[t] = T(0);
    Exp(sums, factors, t + 1);
    f(t, static_cast<const T*>(factors));
  }
}

// Rows first .. first + count - 1, with channel decays. The decay between an
// earlier key and a row of the block has two factors: the decay from the key to
// the start of the block, and the decay from the start to the row.
template <typename T>
struct Block {
  int64_t first;
  int64_t count;
  T* query_factors;  // [count, width], decay from the start to each row
  T* key_factors;    // [first, width], decay from each key to the start
  T* queries;        // [count, width], the queries times query_factors
  T* keys;           // [first, width], the keys times key_factors
  T* d_queries;
  T* d_keys;
  T* sum;      // [width]
  T* factors;  // [width]
};

template <typename T, typename F>
void ForEachBlock(const DecayedProductOperands<T>& rows, T* scratch, F f) {
  const int64_t width = rows.width;
  const auto take = [&](int64_t count) {
    T* const part = scratch;
    scratch += count * width;
    return part;
  };
  Block<T> block;
  block.query_factors = take(kBlock);
  block.queries = take(kBlock);
  block.d_queries = take(kBlock);
  block.key_factors = take(rows.count);
  block.keys = take(rows.count);
  block.d_keys = take(rows.count);
  block.sum = take(1);
  block.factors = take(1);
  for (block.first = 0; block.first < rows.count; block.first += kBlock) {
    block.count = std::min(kBlock, rows.count - block.first);
    const T* const g = rows.log_decay;
    std::fill_n(block.sum, width, T(0));
    for (int64_t i = 0; i < block.count; ++i) {
      const T* const own = g + (block.first + i) * width;
      for (int64_t c = 0; c < width; ++c) {
        block.sum[c] += own[c];
        block.query_factors[i * width + c] = block.sum[c];
      }
    }
    std::fill_n(block.sum, width, T(0));
    for (int64_t s = block.first - 1; s >= 0; --s) {
      for (int64_t c = 0; c < width; ++c) {
        block.key_factors[s * width + c] = block.sum[c];
        block.sum[c] += g[s * width + c];
      }
    }
    const auto apply = [&](int64_t count, const T* from, T* factors, T* to) {
      Exp(factors, factors, count * width);
      for (int64_t i = 0; i < count * width; ++i) to[i] = from[i] * factors[i];
    };
    apply(block.count, rows.queries + block.first * width, block.query_factors,
          block.queries);
    apply(block.first, rows.keys, block.key_factors, block.keys);
    f(block);
  }
}

// Calls f(t, s, factors) for the pairs s <= t in a block. `factors` are the
// decays of the channels between s and t.
template <typename T, typename F>
void ForEachPair(const DecayedProductOperands<T>& rows, const Block<T>& block,
                 F f) {
  const int64_t width = rows.width;
  for (int64_t s = block.first; s < block.first + block.count; ++s) {
    std::fill_n(block.sum, width, T(0));
    for (int64_t t = s; t < block.first + block.count; ++t) {
      const T* const g = rows.log_decay + t * width;
      if (t > s) {
        for (int64_t c = 0; c < width; ++c) block.sum[c] += g[c];
      }
      Exp(block.sum, block.factors, width);
      f(t, s, static_cast<const T*>(block.factors));
    }
  }
}

}  // namespace

template <typename T>
int64_t DecayedScratch(const DecayedProductOperands<T>& rows) {
  if (rows.decay_width <= 1) return 2 * rows.count;
  return (3 * (kBlock + rows.count) + 2) * rows.width;
}

template <typename T>
void ComputeProducts(const DecayedProductOperands<T>& rows, T* scratch,
                     T* products) {
  const int64_t n = rows.count;
  const int64_t width = rows.width;
  if (rows.decay_width <= 1) {
    Gemm(ConstMatrix<T>(rows.queries, n, width),
         ConstMatrix<T>(rows.keys, n, width).Transposed(),
         MutableMatrix<T>(products, n, n));
    ForEachRow(rows, scratch, [=](int64_t t, const T* factors) {
      T* const row = products + t * n;
      for (int64_t s = 0; factors != nullptr && s <= t; ++s) {
        row[s] *= factors[s];
      }
      std::fill(row + t + 1, row + n, T(0));
    });
    return;
  }
  ForEachBlock(rows, scratch, [&](const Block<T>& block) {
    T* const part = products + block.first * n;
    std::fill_n(part, block.count * n, T(0));
    if (block.first > 0) {
      Gemm(ConstMatrix<T>(block.queries, block.count, width),
           ConstMatrix<T>(block.keys, block.first, width).Transposed(),
           MutableMatrix<T>(part, block.count, block.first, n));
    }
    ForEachPair(rows, block, [=](int64_t t, int64_t s, const T* factors) {
      products[t * n + s] = SumEach<T>(
          width, [](auto q, auto k, auto factor) { return q * k * factor; },
          rows.queries + t * width, rows.keys + s * width, factors);
    });
  });
}

template <typename T>
void AddProductGradients(const DecayedProductOperands<T>& rows, T* scratch,
                         T* d_products, T* d_queries, T* d_keys) {
  const int64_t n = rows.count;
  const int64_t width = rows.width;
  if (rows.decay_width <= 1) {
    ForEachRow(rows, scratch, [=](int64_t t, const T* factors) {
      T* const row = d_products + t * n;
      for (int64_t s = 0; factors != nullptr && s <= t; ++s) {
        row[s] *= factors[s];
      }
      std::fill(row + t + 1, row + n, T(0));
    });
    const ConstMatrix<T> d(d_products, n, n);
    Gemm(d, ConstMatrix<T>(rows.keys, n, width),
         MutableMatrix<T>(d_queries, n, width), GemmMode::kAdd);
    Gemm(d.Transposed(), ConstMatrix<T>(rows.queries, n, width),
         MutableMatrix<T>(d_keys, n, width), GemmMode::kAdd);
    return;
  }
  ForEachBlock(rows, scratch, [&](const Block<T>& block) {
    if (block.first > 0) {
      const ConstMatrix<T> d(d_products + block.first * n, block.count,
                             block.first, n);
      Gemm(d, ConstMatrix<T>(block.keys, block.first, width),
           MutableMatrix<T>(block.d_queries, block.count, width));
      Gemm(d.Transposed(), ConstMatrix<T>(block.queries, block.count, width),
           MutableMatrix<T>(block.d_keys, block.first, width));
      T* const d_block = d_queries + block.first * width;
      for (int64_t i = 0; i < block.count * width; ++i) {
        d_block[i] += block.d_queries[i] * block.query_factors[i];
      }
      for (int64_t i = 0; i < block.first * width; ++i) {
        d_keys[i] += block.d_keys[i] * block.key_factors[i];
      }
    }
    ForEachPair(rows, block, [=](int64_t t, int64_t s, const T* factors) {
      const T d = d_products[t * n + s];
      const T* const q = rows.queries + t * width;
      const T* const k = rows.keys + s * width;
      T* __restrict const d_q = d_queries + t * width;
      T* __restrict const d_k = d_keys + s * width;
      for (int64_t c = 0; c < width; ++c) {
        const T factor = d * factors[c];
        d_q[c] += factor * k[c];
        d_k[c] += factor * q[c];
      }
    });
  });
}

template <typename T>
void DecayGradients(const DecayedProductOperands<T>& rows, const T* d_queries,
                    const T* d_keys, T* d_decay) {
  const int64_t width = rows.width;
  for (int64_t t = 0; t < rows.count; ++t) {
    const T* const q = rows.queries + t * width;
    const T* const k = rows.keys + t * width;
    const T* const d_q = d_queries + t * width;
    const T* const d_k = d_keys + t * width;
    if (rows.decay_width == 1) {
      d_decay[t] = SumEach<T>(
          width,
          [](auto q, auto d_q, auto k, auto d_k) { return q * d_q - k * d_k; },
          q, d_q, k, d_k);
      continue;
    }
    for (int64_t c = 0; c < width; ++c) {
      d_decay[t * width + c] = q[c] * d_q[c] - k[c] * d_k[c];
    }
  }
}

template <typename T>
void SumDecayGradients(int64_t count, int64_t decay_width, T* d_decay) {
  for (int64_t i = (count - 1) * decay_width - 1; i >= 0; --i) {
    d_decay[i] += d_decay[i + decay_width];
  }
}

template <typename T>
Var<T> DecayedProducts(Var<T> queries, Var<T> keys, Var<T> log_decay) {
  Tape<T>* const tape = &TapeOf("DecayedProducts", queries, keys);
  const bool decays = log_decay.has_value();
  if (decays) CheckOperand("DecayedProducts", *tape, log_decay);
  const Shape shape = queries.shape();
  REGARD_CHECK(shape.rank() == 4 && keys.shape() == shape &&
               (!decays || log_decay.shape() == shape ||
                log_decay.shape() == shape.With(-1, 1)))
      << "queries " << shape << ", keys " << keys.shape() << ", log decay "
      << log_decay.shape();
  const int64_t n = shape[2];
  const int64_t size = n * shape[3];
  const int64_t decay_width = decays ? log_decay.dim(3) : 0;
  const auto rows_of = [=](int64_t head) {
    return DecayedProductOperands<T>{
        n,
        shape[3],
        decay_width,
        queries.data() + head * size,
        keys.data() + head * size,
        decays ? log_decay.data() + head * n * decay_width : nullptr};
  };
  const int64_t heads = shape[0] * shape[1];
  const bool needs_grad = queries.needs_grad() || keys.needs_grad() ||
                          (decays && log_decay.needs_grad());
  Var<T> products = tape->New(shape.With(3, n), needs_grad);
  {
    ScratchScope<T> scope(*tape);
    T* const scratch = scope.New(DecayedScratch(rows_of(0)));
    for (int64_t head = 0; head < heads; ++head) {
      ComputeProducts(rows_of(head), scratch, products.data() + head * n * n);
    }
  }
  tape->Record("DecayedProducts", products, [=] {
    T* const d_q = GradToAddTo(queries);
    T* const d_k = GradToAddTo(keys);
    T* const d_g = GradToAddTo(log_decay);
    ScratchScope<T> scope(*tape);
    T* const scratch = scope.New(DecayedScratch(rows_of(0)));
    T* const d_products = scope.New(n * n);
    T* const d_queries = scope.New(size);
    T* const d_keys = scope.New(size);
    T* const d_decay = scope.New(n * decay_width);
    const auto add = [](T* to, int64_t head, int64_t count, const T* from) {
      if (to == nullptr) return;
      for (int64_t i = 0; i < count; ++i) to[head * count + i] += from[i];
    };
    for (int64_t head = 0; head < heads; ++head) {
      const DecayedProductOperands<T> rows = rows_of(head);
      std::copy_n(products.grad_data() + head * n * n, n * n, d_products);
      std::fill_n(d_queries, size, T(0));
      std::fill_n(d_keys, size, T(0));
      AddProductGradients(rows, scratch, d_products, d_queries, d_keys);
      add(d_q, head, size, d_queries);
      add(d_k, head, size, d_keys);
      if (d_g == nullptr) continue;
      DecayGradients(rows, d_queries, d_keys, d_decay);
      SumDecayGradients(n, decay_width, d_decay);
      // No element of M depends on the first decay, so its gradient is set to
      // exactly 0.
      std::fill_n(d_decay, std::min<int64_t>(n, 1) * decay_width, T(0));
      add(d_g, head, n * decay_width, d_decay);
    }
  });
  return products;
}

REGARD_INSTANTIATE_FUNCTION(DecayedProducts);
REGARD_INSTANTIATE_FUNCTION(DecayedScratch);
REGARD_INSTANTIATE_FUNCTION(ComputeProducts);
REGARD_INSTANTIATE_FUNCTION(AddProductGradients);
REGARD_INSTANTIATE_FUNCTION(DecayGradients);
REGARD_INSTANTIATE_FUNCTION(SumDecayGradients);

}  // namespace regard
