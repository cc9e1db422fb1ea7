#include "attention/kernels/gaussian_scores.h"

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "autodiff/kernels/gemm.h"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"
#include "autodiff/ops/elementwise.h"

namespace regard {

namespace {

// A column of a matrix with rows of `stride` elements.
template <typename T>
struct Column {
  const T* first;
  int64_t stride;
  T operator[](int64_t row) const { return first[row * stride]; }
};

// One scalar query and its keys.
template <typename T>
struct Row {
  T query;
  const T* keys;
  int64_t n;
  T scale;

  void Scores(T* __restrict scores) const {
    for (int64_t k = 0; k < n; ++k) {
      const T u = (query - keys[k]) * scale;
      scores[k] = T(-0.5) * (u * u);
    }
  }

  // Returns the gradient of the query. d [n] is the gradient of the scores.
  T QueryGradient(const T* d) const {
    return -scale * scale *
           SumEach<T>(
               n, [=, this](auto d, auto key) { return d * (query - key); }, d,
               keys);
  }

  void AddKeyGradients(const T* d, T* __restrict d_keys) const {
    const T square = scale * scale;
    for (int64_t k = 0; k < n; ++k) {
      d_keys[k] += square * (d[k] * (query - keys[k]));
    }
  }
};

// The scalar queries of one example and head.
template <typename T>
struct Rows {
  const T* queries;
  int64_t num_queries;
  const T* keys;
  int64_t num_keys;

  // Adds the sum over the queries of d[query, k] * (query - keys[k])^2 to
  // terms[k]. The gradient of the scale is -scale times the sum of the terms.
  void AddScaleTerms(const T* d, T* terms) const {
    constexpr int64_t kSize = kPacketSize<T>;
    for (int64_t k = 0; k < num_keys; k += 4 * kSize) {
      const int64_t count = num_keys - k;
      if (count > 3 * kSize) {
        AddBlock<4>(d + k, k, terms + k);
      } else if (count > 2 * kSize) {
        AddBlock<3>(d + k, k, terms + k);
      } else if (count > kSize) {
        AddBlock<2>(d + k, k, terms + k);
      } else {
        AddBlock<1>(d + k, k, terms + k);
      }
    }
  }

 private:
  // Adds kPackets packets of terms, starting with the term of `key`. The sums
  // stay in registers. The last packet may be partial.
  template <int kPackets>
  void AddBlock(const T* d, int64_t key, T* terms) const {
    constexpr int64_t kSize = kPacketSize<T>;
    const int64_t last =
        std::min(kSize, num_keys - key - (kPackets - 1) * kSize);
    const auto load = [=](const T* x, int j) {
      return j + 1 < kPackets || last == kSize
                 ? packet::ploadu<Packet<T>>(x + j * kSize)
                 : LoadPart(x + j * kSize, last);
    };
    Packet<T> of_keys[kPackets];
    Packet<T> sums[kPackets];
    for (int j = 0; j < kPackets; ++j) {
      of_keys[j] = load(keys + key, j);
      sums[j] = load(terms, j);
    }
    for (int64_t q = 0; q < num_queries; ++q) {
      const Packet<T> query = packet::pset1<Packet<T>>(queries[q]);
      for (int j = 0; j < kPackets; ++j) {
        const Packet<T> difference = packet::psub(query, of_keys[j]);
        sums[j] = packet::padd(
            sums[j], packet::pmul(load(d + q * num_keys, j),
                                  packet::pmul(difference, difference)));
      }
    }
    for (int j = 0; j + 1 < kPackets; ++j) {
      packet::pstoreu(terms + j * kSize, sums[j]);
    }
    StorePart(terms + (kPackets - 1) * kSize, sums[kPackets - 1], last);
  }
};

template <typename T>
Var<T> ScalarScores(Var<T> queries, Var<T> keys, Var<T> scale) {
  const Shape& q = queries.shape();
  const Shape& k = keys.shape();
  const int64_t heads = q[1];
  const int64_t sources = q[0] * heads;
  const int64_t num_queries = q[2];
  const int64_t num_keys = k[2];
  const int64_t scales = scale.size();
  Var<T> scores =
      TapeOf("GaussianScores", queries, keys, scale)
          .New({q[0], heads, num_queries, num_keys},
               queries.needs_grad() || keys.needs_grad() || scale.needs_grad());
  // Calls f(row, Row, source), where source is example * heads + head.
  const auto for_each_row = [=](auto f) {
    for (int64_t source = 0; source < sources; ++source) {
      const T scale_of_source = scale.data()[source % scales];
      for (int64_t i = 0; i < num_queries; ++i) {
        const int64_t row = source * num_queries + i;
        f(row,
          Row<T>{queries.data()[row], keys.data() + source * num_keys, num_keys,
                 scale_of_source},
          source);
      }
    }
  };
  for_each_row([&](int64_t row, const Row<T>& r, int64_t) {
    r.Scores(scores.data() + row * num_keys);
  });
  queries.tape().Record("GaussianScores", scores, [=] {
    const T* d_scores = scores.grad_data();
    if (T* const d_queries = GradToAddTo(queries)) {
      for_each_row([&](int64_t row, const Row<T>& r, int64_t) {
        d_queries[row] += r.QueryGradient(d_scores + row * num_keys);
      });
    }
    if (T* const d_keys = GradToAddTo(keys)) {
      for_each_row([&](int64_t row, const Row<T>& r, int64_t source) {
        r.AddKeyGradients(d_scores + row * num_keys,
                          d_keys + source * num_keys);
      });
    }
    if (auto d = scale.grad_ref()) {
      ScratchScope<T> scratch(scale.tape());
      T* const terms = scratch.New(scales * num_keys);
      std::fill_n(terms, scales * num_keys, T(0));
      for (int64_t source = 0; source < sources; ++source) {
        const Rows<T> of_source = {queries.data() + source * num_queries,
                                   num_queries, keys.data() + source * num_keys,
                                   num_keys};
        of_source.AddScaleTerms(d_scores + source * num_queries * num_keys,
                                terms + source % scales * num_keys);
      }
      d.AddEach([=](int64_t i) {
        return -scale.data()[i] * SumRow(terms + i * num_keys, num_keys);
      });
    }
  });
  return scores;
}

// The rows of queries and keys of one example and head.
template <typename T>
struct Source {
  const T* queries;
  int64_t num_queries;
  const T* keys;
  int64_t num_keys;
  int64_t width;

  ConstMatrix<T> QueryRows() const { return {queries, num_queries, width}; }
  ConstMatrix<T> KeyOrValueRows() const { return {keys, num_keys, width}; }

  // Writes |query|^2 / 2 and |key|^2 / 2.
  void HalfSquares(T* of_queries, T* of_keys) const {
    for (int64_t i = 0; i < num_queries; ++i) {
      const T* x = queries + i * width;
      of_queries[i] = T(0.5) * DotRow(x, x, width);
    }
    for (int64_t j = 0; j < num_keys; ++j) {
      const T* y = keys + j * width;
      of_keys[j] = T(0.5) * DotRow(y, y, width);
    }
  }

  static bool ProductIsAccurate(T score, T half_squares) {
    return -8 * score >= half_squares;
  }

  void Scores(T* scores, T* half_queries, T* half_keys) const {
    HalfSquares(half_queries, half_keys);
    Gemm(QueryRows(), KeyOrValueRows().Transposed(),
         {scores, num_queries, num_keys});
    for (int64_t i = 0; i < num_queries; ++i) {
      T* const row = scores + i * num_keys;
      const T* x = queries + i * width;
      for (int64_t j = 0; j < num_keys; ++j) {
        const T half = half_queries[i] + half_keys[j];
        row[j] -= half;
        if (ProductIsAccurate(row[j], half)) continue;
        const T* y = keys + j * width;
        row[j] =
            T(-0.5) *
            SumEach<T>(
                width, [](auto x, auto y) { return (x - y) * (x - y); }, x, y);
      }
    }
  }

  // Adds to the gradients d_queries and d_keys, which may be null. `products`
  // is scratch of the size of the scores. `half_queries` and `half_keys` are
  // scratch for HalfSquares().
  void Backward(const T* scores, const T* d_scores, T* products,
                T* half_queries, T* half_keys, T* d_queries, T* d_keys) const {
    HalfSquares(half_queries, half_keys);
    for (int64_t i = 0; i < num_queries; ++i) {
      for (int64_t j = 0; j < num_keys; ++j) {
        const int64_t pair = i * num_keys + j;
        const T d = d_scores[pair];
        const bool in_product =
            ProductIsAccurate(scores[pair], half_queries[i] + half_keys[j]);
        products[pair] = in_product ? d : T(0);
        if (in_product || d == T(0)) continue;
        for (int64_t at = 0; at < width; ++at) {
          const T step = d * (queries[i * width + at] - keys[j * width + at]);
          if (d_queries != nullptr) d_queries[i * width + at] -= step;
          if (d_keys != nullptr) d_keys[j * width + at] += step;
        }
      }
    }
    const ConstMatrix<T> d(products, num_queries, num_keys);
    if (d_queries != nullptr) {
      for (int64_t i = 0; i < num_queries; ++i) {
        const T sum = SumRow(products + i * num_keys, num_keys);
        for (int64_t at = 0; at < width; ++at) {
          d_queries[i * width + at] -= sum * queries[i * width + at];
        }
      }
      Gemm(d, KeyOrValueRows(), {d_queries, num_queries, width},
           GemmMode::kAdd);
    }
    if (d_keys != nullptr) {
      for (int64_t j = 0; j < num_keys; ++j) {
        const T sum = SumEach<T>(
            num_queries, [](auto x) { return x; },
            Column<T>{products + j, num_keys});
        for (int64_t at = 0; at < width; ++at) {
          d_keys[j * width + at] -= sum * keys[j * width + at];
        }
      }
      Gemm(d.Transposed(), QueryRows(), {d_keys, num_keys, width},
           GemmMode::kAdd);
    }
  }
};

// Returns -|q - k|^2 / 2 for each row q of queries and each row k of keys.
template <typename T>
Var<T> RowScores(Var<T> queries, Var<T> keys) {
  const Shape& q = queries.shape();
  const int64_t sources = q[0] * q[1];
  const int64_t num_queries = q[2];
  const int64_t num_keys = keys.dim(2);
  const int64_t width = q[3];
  const int64_t pairs = num_queries * num_keys;
  Tape<T>& tape = TapeOf("GaussianScores", queries, keys);
  Var<T> scores = tape.New({q[0], q[1], num_queries, num_keys},
                           queries.needs_grad() || keys.needs_grad());
  const auto source_at = [=](int64_t i) -> Source<T> {
    return {queries.data() + i * num_queries * width, num_queries,
            keys.data() + i * num_keys * width, num_keys, width};
  };
  {
    ScratchScope<T> scratch(tape);
    T* const half_queries = scratch.New(num_queries);
    T* const half_keys = scratch.New(num_keys);
    for (int64_t i = 0; i < sources; ++i) {
      source_at(i).Scores(scores.data() + i * pairs, half_queries, half_keys);
    }
  }
  tape.Record("GaussianScores", scores, [=] {
    ScratchScope<T> scratch(scores.tape());
    T* const products = scratch.New(pairs);
    T* const half_queries = scratch.New(num_queries);
    T* const half_keys = scratch.New(num_keys);
    T* const d_queries = GradToAddTo(queries);
    T* const d_keys = GradToAddTo(keys);
    for (int64_t i = 0; i < sources; ++i) {
      source_at(i).Backward(
          scores.data() + i * pairs, scores.grad_data() + i * pairs, products,
          half_queries, half_keys,
          d_queries == nullptr ? nullptr : d_queries + i * num_queries * width,
          d_keys == nullptr ? nullptr : d_keys + i * num_keys * width);
    }
  });
  return scores;
}

}  // namespace

template <typename T>
Var<T> GaussianScores(Var<T> queries, Var<T> keys, Var<T> scale) {
  const Shape& q = queries.shape();
  const Shape& k = keys.shape();
  REGARD_CHECK(q.rank() == 4 && k.rank() == 4 && q[0] == k[0] && q[1] == k[1] &&
               q[3] == k[3] &&
               (scale.size() == 1 || scale.shape() == Shape({q[1], 1}) ||
                scale.shape() == Shape({q[1], q[3]})))
      << "queries " << q << ", keys " << k << ", scale " << scale.shape();
  if (q[3] == 1) return ScalarScores(queries, keys, scale);
  const Var<T> of_rows = scale.size() == 1
                             ? scale.Reshape({1})
                             : scale.Reshape({q[1], 1, scale.dim(1)});
  // A separate statement fixes the order in which gradients are added.
  const Var<T> scaled_keys = keys * of_rows;
  return RowScores(queries * of_rows, scaled_keys);
}

REGARD_INSTANTIATE_FUNCTION(GaussianScores);

}  // namespace regard
