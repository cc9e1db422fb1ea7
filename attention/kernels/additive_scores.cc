#include "attention/kernels/additive_scores.h"

#include <algorithm>
#include <cstdint>

#include "attention/kernels/additive_score.h"
#include "autodiff/kernels/gemm.h"

namespace regard {

template <typename T>
Var<T> AdditiveScores(Var<T> queries, Var<T> keys, Var<T> vector,
                      const Mask& mask, const Positions& positions,
                      const AdditivePairTerm<T>& term) {
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
  Tape<T>& tape = TapeOf("AdditiveScores", queries, keys, vector);
  const Var<T> features = term.features;
  const Var<T> weight = term.weight;
  const bool has_term = features.has_value();
  if (has_term) {
    CheckOperand("AdditiveScores", tape, features);
    CheckOperand("AdditiveScores", tape, weight);
  }
  const int64_t num_features =
      has_term ? weight.size() / std::max<int64_t>(heads * width, 1) : 0;
  REGARD_CHECK(!has_term ||
               (weight.shape() == Shape({heads, width, num_features}) &&
                features.size() == rows * num_keys * num_features))
      << "features " << features.shape() << " and weight " << weight.shape()
      << " of pairs of queries " << q_shape << " and keys " << keys.shape();
  const bool needs_grad =
      queries.needs_grad() || keys.needs_grad() || vector.needs_grad() ||
      (has_term && (features.needs_grad() || weight.needs_grad()));
  Var<T> scores = tape.New({batch, heads, num_queries, num_keys}, needs_grad);
  struct KeyRange {
    int32_t begin;
    int32_t end;
  };
  auto* ranges = tape.arena().template New<KeyRange>(rows);
  const auto row_of = [=](int64_t row) -> AdditiveScoreOperands<T> {
    const int64_t source = row / num_queries;  // example * heads + head
    const KeyRange range = ranges[row];
    return {queries.data() + row * width,
            keys.data() + (source * num_keys + range.begin) * width,
            vector.data() + source % heads * width, range.end - range.begin,
            width};
  };
  const auto features_of = [=](int64_t row, const T* data) {
    const KeyRange range = ranges[row];
    return ConstMatrix<T>(data + (row * num_keys + range.begin) * num_features,
                          range.end - range.begin, num_features);
  };
  const auto weight_at = [=](int64_t row) {
    return row / num_queries % heads * width * num_features;
  };
  // Writes the keys of a row plus their terms to `sums`.
  const auto with_term = [=](int64_t row, T* sums) {
    AdditiveScoreOperands<T> compared = row_of(row);
    GemmPlus(features_of(row, features.data()),
             ConstMatrix<T>(weight.data() + weight_at(row), width, num_features)
                 .Transposed(),
             ConstMatrix<T>(compared.keys, compared.n, width),
             MutableMatrix<T>(sums, compared.n, width));
    compared.keys = sums;
    return compared;
  };
  ScratchScope<T> scratch(tape);
  T* const sums = has_term ? scratch.New(num_keys * width) : nullptr;
  const MaskReader reader(mask, positions, batch, num_queries, num_keys);
  for (int64_t row = 0; row < rows; ++row) {
    const VisibleKeys visible =
        reader(row / num_queries / heads, row % num_queries);
    ranges[row] = {static_cast<int32_t>(visible.begin),
                   static_cast<int32_t>(visible.end)};
    T* const score = scores.data() + row * num_keys;
    std::fill(score, score + visible.begin, T(0));
    AdditiveScore(has_term ? with_term(row, sums) : row_of(row),
                  score + visible.begin);
    std::fill(score + visible.end, score + num_keys, T(0));
  }
  tape.Record("AdditiveScores", scores, [=] {
    const AdditiveScoreGradients<T> d = {
        GradToAddTo(queries), GradToAddTo(keys), GradToAddTo(vector)};
    T* const d_features = GradToAddTo(features);
    T* const d_weight = GradToAddTo(weight);
    ScratchScope<T> scratch(scores.tape());
    T* const sums = has_term ? scratch.New(num_keys * width) : nullptr;
    T* const d_sums = has_term ? scratch.New(num_keys * width) : nullptr;
    const T* d_scores = scores.grad_data();
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t source = row / num_queries;
      const int64_t begin = ranges[row].begin;
      const T* d_score = d_scores + row * num_keys + begin;
      T* const d_keys = d.keys == nullptr
                            ? nullptr
                            : d.keys + (source * num_keys + begin) * width;
      AdditiveScoreGradients<T> d_row = {
          d.query == nullptr ? nullptr : d.query + row * width, d_keys,
          d.vector == nullptr ? nullptr : d.vector + source % heads * width};
      if (!has_term) {
        AdditiveScoreBackward<T>(row_of(row), d_score, d_row);
        continue;
      }
      const AdditiveScoreOperands<T> compared = with_term(row, sums);
      const int64_t size = compared.n * width;
      std::fill_n(d_sums, size, T(0));
      d_row.keys = d_sums;
      AdditiveScoreBackward<T>(compared, d_score, d_row);
      if (d_keys != nullptr) {
        for (int64_t i = 0; i < size; ++i) d_keys[i] += d_sums[i];
      }
      const ConstMatrix<T> d_of_sums(d_sums, compared.n, width);
      if (d_features != nullptr) {
        Gemm(
            d_of_sums,
            ConstMatrix<T>(weight.data() + weight_at(row), width, num_features),
            MutableMatrix<T>(
                d_features + (row * num_keys + begin) * num_features,
                compared.n, num_features),
            GemmMode::kAdd);
      }
      if (d_weight != nullptr) {
        Gemm(d_of_sums.Transposed(), features_of(row, features.data()),
             MutableMatrix<T>(d_weight + weight_at(row), width, num_features),
             GemmMode::kAdd);
      }
    }
  });
  return scores;
}

REGARD_INSTANTIATE_FUNCTION(AdditiveScores);

}  // namespace regard
