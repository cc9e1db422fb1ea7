#include "attention/gaussian_scores.h"

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "autodiff/kernels/packets.h"
#include "autodiff/kernels/reduce.h"

namespace regard {

namespace {

// One query and its keys.
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

  // Gradients by those of the scores.
  T QueryGradient(const T* d) const {
    return -scale * scale * SumEach<T>(n, [=, this](int64_t k) {
      return d[k] * (query - keys[k]);
    });
  }

  void AddKeyGradients(const T* d, T* __restrict d_keys) const {
    const T square = scale * scale;
    for (int64_t k = 0; k < n; ++k) {
      d_keys[k] += square * (d[k] * (query - keys[k]));
    }
  }
};

// The queries of one source.
template <typename T>
struct Rows {
  const T* queries;
  int64_t num_queries;
  const T* keys;
  int64_t num_keys;

  // terms[k] += the sum over the queries of d[query, k] (query - keys[k])^2.
  // The gradient of the scale is -scale times the sum of the terms.
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
  // The terms of so many packets from `key` on, which stay in registers; the
  // last packet may be a part.
  template <int kPackets>
  void AddBlock(const T* d, int64_t key, T* terms) const {
    namespace packet = Eigen::internal;
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

}  // namespace

template <typename T>
Var<T> GaussianScores(Var<T> queries, Var<T> keys, Var<T> scale) {
  const Shape& q = queries.shape();
  const Shape& k = keys.shape();
  REGARD_CHECK(q.rank() == 4 && k.rank() == 4 && q[0] == k[0] && q[1] == k[1] &&
               q[3] == 1 && k[3] == 1 &&
               (scale.size() == q[1] || scale.size() == 1))
      << "queries " << q << ", keys " << k << ", scale " << scale.shape();
  const int64_t heads = q[1];
  const int64_t sources = q[0] * heads;
  const int64_t num_queries = q[2];
  const int64_t num_keys = k[2];
  const int64_t scales = scale.size();
  Var<T> scores = queries.tape().New(
      {q[0], heads, num_queries, num_keys},
      queries.needs_grad() || keys.needs_grad() || scale.needs_grad());
  // Calls f(row, Row, source), source = example * heads + head.
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
    if (auto d = queries.grad_ref()) {
      T* const d_queries = d.BeginPartial();
      for_each_row([&](int64_t row, const Row<T>& r, int64_t) {
        d_queries[row] += r.QueryGradient(d_scores + row * num_keys);
      });
    }
    if (auto d = keys.grad_ref()) {
      T* const d_keys = d.BeginPartial();
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

template Var<float> GaussianScores(Var<float>, Var<float>, Var<float>);
template Var<double> GaussianScores(Var<double>, Var<double>, Var<double>);

}  // namespace regard
