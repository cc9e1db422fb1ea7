#include "attention/additive_scores.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/reduce.h"
#include "autodiff/kernels/transcendental.h"

namespace regard {

// The tanh of each comparison is kept for backward, [rows, keys, width]:
// computing it again costs half as much time once more.
template <typename T>
Var<T> AdditiveScores(Var<T> queries, Var<T> keys, Var<T> vector,
                      const Mask& mask) {
  const Shape& q_shape = queries.shape();
  REGARD_CHECK(q_shape.rank() == 4 && keys.shape().rank() == 4 &&
               q_shape[0] == keys.dim(0) && q_shape[1] == keys.dim(1) &&
               q_shape[3] == keys.dim(3) &&
               vector.shape() == Shape({q_shape[1], q_shape[3]}))
      << "queries " << q_shape << ", keys " << keys.shape() << ", vector "
      << vector.shape();
  const int64_t batch = q_shape[0];
  const int64_t heads = q_shape[1];
  const int64_t num_queries = q_shape[2];
  const int64_t num_keys = keys.dim(2);
  const int64_t width = q_shape[3];
  const int64_t rows = batch * heads * num_queries;
  Tape<T>& tape = queries.tape();
  const bool needs_grad =
      queries.needs_grad() || keys.needs_grad() || vector.needs_grad();
  Var<T> scores = tape.New({batch, heads, num_queries, num_keys}, needs_grad);
  const MaskReader reader(mask, batch, num_queries, num_keys);
  auto* limits = tape.arena().template New<int32_t>(rows);
  const bool keep = scores.needs_grad();
  ScratchScope<T> scratch(tape);
  T* const saved = keep ? tape.arena().template New<T>(rows * num_keys * width)
                        : scratch.New(num_keys * width);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t source = row / num_queries;  // example * heads + head
    const int64_t n = reader(source / heads, row % num_queries).limit;
    limits[row] = static_cast<int32_t>(n);
    const T* q = queries.data() + row * width;
    const T* k = keys.data() + source * num_keys * width;
    const T* v = vector.data() + source % heads * width;
    T* tanh = keep ? saved + row * num_keys * width : saved;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        tanh[i * width + j] = q[j] + k[i * width + j];
      }
    }
    Tanh(tanh, tanh, n * width);
    T* score = scores.data() + row * num_keys;
    for (int64_t i = 0; i < n; ++i) {
      score[i] = DotRow(tanh + i * width, v, width);
    }
    std::fill(score + n, score + num_keys, T(0));
  }
  tape.Record("AdditiveScores", scores, [=] {
    const T* d_scores = scores.grad_data();
    auto d_queries = queries.grad_ref();
    auto d_keys = keys.grad_ref();
    auto d_vector = vector.grad_ref();
    T* const d_q = d_queries ? d_queries.BeginPartial() : nullptr;
    T* const d_k = d_keys ? d_keys.BeginPartial() : nullptr;
    T* const d_v = d_vector ? d_vector.BeginPartial() : nullptr;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t source = row / num_queries;
      const int64_t head = source % heads;
      const T* v = vector.data() + head * width;
      for (int64_t i = 0; i < limits[row]; ++i) {
        const T d = d_scores[row * num_keys + i];
        const T* __restrict tanh = saved + (row * num_keys + i) * width;
        if (d_v != nullptr) {
          T* __restrict out = d_v + head * width;
          for (int64_t j = 0; j < width; ++j) out[j] += d * tanh[j];
        }
        if (d_q != nullptr) {
          T* __restrict out = d_q + row * width;
          for (int64_t j = 0; j < width; ++j) {
            out[j] += d * v[j] * (T(1) - tanh[j] * tanh[j]);
          }
        }
        if (d_k != nullptr) {
          T* __restrict out = d_k + (source * num_keys + i) * width;
          for (int64_t j = 0; j < width; ++j) {
            out[j] += d * v[j] * (T(1) - tanh[j] * tanh[j]);
          }
        }
      }
    }
  });
  return scores;
}

template Var<float> AdditiveScores(Var<float>, Var<float>, Var<float>,
                                   const Mask&);
template Var<double> AdditiveScores(Var<double>, Var<double>, Var<double>,
                                    const Mask&);

}  // namespace regard
