#include "attention/gaussian_scores.h"

#include <algorithm>
#include <cstdint>

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

  // The gradient of the scale is -scale times the sum over k of all rows.
  void AddScaleTerms(const T* d, T* __restrict terms) const {
    for (int64_t k = 0; k < n; ++k) {
      const T difference = query - keys[k];
      terms[k] += d[k] * (difference * difference);
    }
  }

  void AddKeyGradients(const T* d, T* __restrict d_keys) const {
    const T square = scale * scale;
    for (int64_t k = 0; k < n; ++k) {
      d_keys[k] += square * (d[k] * (query - keys[k]));
    }
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
  const int64_t num_queries = q[2];
  const int64_t num_keys = k[2];
  const int64_t rows = queries.size();
  const int64_t scales = scale.size();
  Var<T> scores = queries.tape().New(
      {q[0], heads, num_queries, num_keys},
      queries.needs_grad() || keys.needs_grad() || scale.needs_grad());
  const auto row_of = [=](int64_t row) -> Row<T> {
    const int64_t source = row / num_queries;  // example * heads + head
    return {queries.data()[row], keys.data() + source * num_keys, num_keys,
            scale.data()[source % scales]};
  };
  for (int64_t row = 0; row < rows; ++row) {
    row_of(row).Scores(scores.data() + row * num_keys);
  }
  queries.tape().Record("GaussianScores", scores, [=] {
    const T* d_scores = scores.grad_data();
    if (auto d = queries.grad_ref()) {
      d.AddEach([=](int64_t row) {
        return row_of(row).QueryGradient(d_scores + row * num_keys);
      });
    }
    if (auto d = keys.grad_ref()) {
      T* const d_keys = d.BeginPartial();
      for (int64_t row = 0; row < rows; ++row) {
        row_of(row).AddKeyGradients(d_scores + row * num_keys,
                                    d_keys + row / num_queries * num_keys);
      }
    }
    if (auto d = scale.grad_ref()) {
      ScratchScope<T> scratch(scale.tape());
      T* const terms = scratch.New(scales * num_keys);
      std::fill_n(terms, scales * num_keys, T(0));
      for (int64_t row = 0; row < rows; ++row) {
        row_of(row).AddScaleTerms(
            d_scores + row * num_keys,
            terms + row / num_queries % scales * num_keys);
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
