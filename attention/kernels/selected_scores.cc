#include "attention/kernels/selected_scores.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "autodiff/kernels/gemm.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Calls f(begin, end) for each range of `ranges`, relative to first_key and
// clipped to begin_key .. end_key - 1.
template <typename F>
void ForEachPart(absl::Span<const KeyRange> ranges, int64_t first_key,
                 int64_t begin_key, int64_t end_key, F f) {
  for (const KeyRange& range : ranges) {
    const int64_t begin = std::max(range.begin - first_key, begin_key);
    const int64_t end = std::min(range.end - first_key, end_key);
    if (begin < end) f(begin, end);
  }
}

}  // namespace

template <typename T>
Var<T> SelectedScores(Var<T> scores, const Mask& mask,
                      const Positions& positions, const DistanceBias<T>& bias) {
  const Shape shape = scores.shape();
  REGARD_CHECK(shape.rank() == 4 && mask.selected.has_value() &&
               shape[1] == mask.selected.heads())
      << "scores " << shape << ", ranges of " << mask.selected.heads()
      << " heads";
  bias.CheckCovers(scores.tape(), positions, shape);
  const int64_t heads = shape[1];
  const int64_t queries = shape[2];
  const int64_t keys = shape[3];
  const MaskReader reader(mask, positions, shape[0], queries, keys);
  const KeyRanges selected = mask.selected;
  const int64_t first_key = mask.first_key;
  // Calls f(row, index of the row's bias, key) for each key that is visible and
  // selected.
  const auto for_each_key = [=](auto f) {
    for (int64_t row = 0; row < shape[0] * heads * queries; ++row) {
      const int64_t source = row / queries;
      const int64_t query = row % queries;
      const int64_t head = source % heads;
      const VisibleKeys visible = reader(source / heads, query);
      const int64_t place =
          bias.has_value() ? bias.IndexOf(head, positions.Offset(query)) : 0;
      ForEachPart(selected(source / heads, head, query), first_key,
                  visible.begin, visible.end, [&](int64_t begin, int64_t end) {
                    for (int64_t key = begin; key < end; ++key) {
                      if (visible(key)) f(row, place, key);
                    }
                  });
    }
  };
  const Var<T> y =
      scores.tape().New(shape, scores.needs_grad() || bias.needs_grad());
  std::fill_n(y.data(), y.size(), -std::numeric_limits<T>::infinity());
  for_each_key([&](int64_t row, int64_t place, int64_t key) {
    const int64_t at = row * keys + key;
    const T score = scores.data()[at];
    y.data()[at] =
        bias.has_value() ? score + bias.values.data()[place + key] : score;
  });
  scores.tape().Record("SelectedScores", y, [=] {
    const T* const d = y.grad_data();
    T* const d_score = GradToAddTo(scores);
    T* const d_bias = GradToAddTo(bias.values);
    for_each_key([=](int64_t row, int64_t place, int64_t key) {
      const T at = d[row * keys + key];
      if (d_score != nullptr) d_score[row * keys + key] += at;
      if (d_bias != nullptr) d_bias[place + key] += at;
    });
  });
  return y;
}

JoinedKeyRuns FindJoinedKeyRuns(Arena& arena, const Mask& mask,
                                const Positions& positions, int64_t queries) {
  const int64_t keys = mask.all_keys;
  const int64_t pieces = (keys + kGemmDepth - 1) / kGemmDepth;
  const MaskReader reader(mask, positions, 1, queries, keys);
  auto* const is_read = arena.New<uint8_t>(pieces);
  std::fill_n(is_read, pieces, uint8_t{0});
  // For each query, the first piece of kGemmDepth keys that at least one of its
  // heads reads.
  auto* const first_piece = arena.New<int64_t>(queries);
  std::fill_n(first_piece, queries, pieces);
  for (int64_t query = 0; query < queries; ++query) {
    const VisibleKeys visible = reader(0, query);
    for (int64_t head = 0; head < mask.selected.heads(); ++head) {
      ForEachPart(mask.selected(0, head, query), 0, visible.begin, visible.end,
                  [&](int64_t begin, int64_t end) {
                    const int64_t first = begin / kGemmDepth;
                    first_piece[query] = std::min(first_piece[query], first);
                    std::fill(is_read + first,
                              is_read + (end - 1) / kGemmDepth + 1, uint8_t{1});
                  });
    }
  }
  // The number of columns before each piece. The last entry counts all columns.
  auto* const before = arena.New<int64_t>(pieces + 1);
  auto* const runs = arena.New<KeyRange>(pieces);
  size_t count = 0;
  before[0] = 0;
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const auto begin = static_cast<int32_t>(piece * kGemmDepth);
    const auto end =
        static_cast<int32_t>(std::min((piece + 1) * kGemmDepth, keys));
    before[piece + 1] = before[piece] + (is_read[piece] ? end - begin : 0);
    if (!is_read[piece]) continue;
    if (count > 0 && runs[count - 1].end == begin) {
      runs[count - 1].end = end;
    } else {
      runs[count++] = {begin, end};
    }
  }
  // The columns of a query begin at its first visible key, or at the first
  // piece that it reads if this piece begins later. The key at which they begin
  // does not depend on other queries.
  auto* const columns = arena.New<KeyRange>(queries);
  for (int64_t query = 0; query < queries; ++query) {
    const VisibleKeys visible = reader(0, query);
    const int64_t first =
        std::max(visible.begin, first_piece[query] * kGemmDepth);
    const auto column = [&](int64_t key) {
      const int64_t piece = key / kGemmDepth;
      const bool within = piece < pieces && is_read[piece] != 0;
      return static_cast<int32_t>(before[piece] +
                                  (within ? key - piece * kGemmDepth : 0));
    };
    const int32_t end = column(visible.end);
    columns[query] = {first < visible.end ? column(first) : end, end};
  }
  return {{runs, count}, {columns, static_cast<size_t>(queries)}};
}

REGARD_INSTANTIATE_FUNCTION(SelectedScores);

}  // namespace regard
