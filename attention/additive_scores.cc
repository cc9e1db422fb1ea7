#include "attention/additive_scores.h"

#include <algorithm>
#include <cstdint>

#include "autodiff/kernels/additive_score.h"

namespace regard {

template <typename T>
Var<T> AdditiveScores(Var<T> queries, Var<T> keys, Var<T> vector,
                      const Mask& mask, const Positions& positions) {
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
  // The keys that a query is compared with.
  struct KeyRange {
    int32_t begin;
    int32_t end;
  };
  auto* ranges = tape.arena().template New<KeyRange>(rows);
  const auto row_of = [=](int64_t row) -> AdditiveScoreRow<T> {
    const int64_t source = row / num_queries;  // example * heads + head
    const KeyRange range = ranges[row];
    return {queries.data() + row * width,
            keys.data() + (source * num_keys + range.begin) * width,
            vector.data() + source % heads * width, range.end - range.begin,
            width};
  };
  const MaskReader reader(mask, positions, batch, num_queries, num_keys);
  for (int64_t row = 0; row < rows; ++row) {
    const VisibleKeys visible =
        reader(row / num_queries / heads, row % num_queries);
    ranges[row] = {static_cast<int32_t>(visible.begin),
                   static_cast<int32_t>(visible.end)};
    T* const score = scores.data() + row * num_keys;
    std::fill(score, score + visible.begin, T(0));
    AdditiveScore(row_of(row), score + visible.begin);
    std::fill(score + visible.end, score + num_keys, T(0));
  }
  tape.Record("AdditiveScores", scores, [=] {
    const auto partial = [](Var<T> x) -> T* {
      auto d = x.grad_ref();
      return d ? d.BeginPartial() : nullptr;
    };
    const AdditiveScoreGradients<T> d = {partial(queries), partial(keys),
                                         partial(vector)};
    const T* d_scores = scores.grad_data();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t source = row / num_queries;
      const int64_t begin = ranges[row].begin;
      AdditiveScoreBackward<T>(
          row_of(row), d_scores + row * num_keys + begin,
          {d.query == nullptr ? nullptr : d.query + row * width,
           d.keys == nullptr ? nullptr
                             : d.keys + (source * num_keys + begin) * width,
           d.vector == nullptr ? nullptr : d.vector + source % heads * width});
    }
  });
  return scores;
}

template Var<float> AdditiveScores(Var<float>, Var<float>, Var<float>,
                                   const Mask&, const Positions&);
template Var<double> AdditiveScores(Var<double>, Var<double>, Var<double>,
                                    const Mask&, const Positions&);

}  // namespace regard
