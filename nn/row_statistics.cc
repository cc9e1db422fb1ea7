#include "nn/row_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "autodiff/instantiate.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Returns the larger number, or NaN if either is NaN.
double Greater(double a, double b) { return b > a || std::isnan(b) ? b : a; }

template <typename T>
double Magnitude(T weight) {
  return std::abs(static_cast<double>(weight));
}

// Computes the statistics of one row, whose query is at the position of key row
// `position`.
template <typename T>
void ReadRow(absl::Span<const T> weights, const WeightBlockPosition& place,
             int64_t position, const AttentionStatistics& to, int64_t row) {
  double sum = 0;
  double top = 0;
  double max =
      place.part_of_keys ? 0 : -std::numeric_limits<double>::infinity();
  for (const T weight : weights) {
    sum += Magnitude(weight);
    top = Greater(top, Magnitude(weight));
    max = Greater(max, static_cast<double>(weight));
  }
  const auto key_of = [&](size_t column) {
    return place.keys.empty() ? place.first_key + static_cast<int64_t>(column)
                              : int64_t{place.keys[column]};
  };
  to.sum[row] = sum;
  if (to.entropy != nullptr) {
    double entropy = 0;
    for (const T weight : weights) {
      const double share = Magnitude(weight) / sum;
      if (share > 0) entropy -= share * std::log(share);
    }
    to.entropy[row] = entropy;
  }
  if (to.top != nullptr) {
    const auto found =
        std::find_if(weights.begin(), weights.end(),
                     [top](T weight) { return Magnitude(weight) == top; });
    const bool sees = top > 0 && found != weights.end();
    to.top[row] = top;
    to.top_key[row] = sees ? static_cast<int32_t>(key_of(
                                 static_cast<size_t>(found - weights.begin())))
                           : -1;
    to.max[row] = weights.empty() ? 0 : max;
  }
  if (to.first != nullptr) {
    const bool has_first = !weights.empty() && key_of(0) == 0;
    to.first[row] = has_first ? Magnitude(weights[0]) : 0;
  }
  for (size_t i = 0; i < to.widths.size(); ++i) {
    double inside = 0;
    for (size_t column = 0; column < weights.size(); ++column) {
      const int64_t distance = position - key_of(column);
      if (distance >= 0 && distance < to.widths[i]) {
        inside += Magnitude(weights[column]);
      }
    }
    to.window(static_cast<int64_t>(i))[row] = inside;
  }
}

}  // namespace

void RowStatisticsRequest::Add(const RowStatisticsRequest& other) {
  entropy |= other.entropy;
  top |= other.top;
  first |= other.first;
  for (const int64_t width : other.windows) {
    if (std::find(windows.begin(), windows.end(), width) == windows.end()) {
      windows.push_back(width);
    }
  }
}

AttentionStatistics AttentionStatistics::New(
    Arena& arena, const RowStatisticsRequest& request, const Shape& shape) {
  AttentionStatistics rows;
  if (!request.any()) return rows;
  rows.batch = shape[0];
  rows.heads = shape[1];
  rows.queries = shape[2];
  const auto zeros = [&](int64_t arrays) {
    auto* const all = arena.New<double>(arrays * rows.size());
    std::fill_n(all, arrays * rows.size(), 0.0);
    return all;
  };
  rows.sum = zeros(1);
  if (request.entropy) rows.entropy = zeros(1);
  if (request.top) {
    rows.top = zeros(1);
    rows.top_key = arena.New<int32_t>(rows.size());
    std::fill_n(rows.top_key, rows.size(), -1);
    rows.max = zeros(1);
  }
  if (request.first) rows.first = zeros(1);
  if (request.windows.empty()) return rows;
  const auto count = static_cast<int64_t>(request.windows.size());
  auto* const widths = arena.New<int64_t>(count);
  std::copy(request.windows.begin(), request.windows.end(), widths);
  rows.widths = {widths, request.windows.size()};
  rows.windows = zeros(count);
  return rows;
}

const double* AttentionStatistics::CausalWindowSums(int64_t width) const {
  const auto found = std::find(widths.begin(), widths.end(), width);
  REGARD_CHECK(found != widths.end()) << "no window of width " << width;
  return window(found - widths.begin());
}

template <typename T>
void WriteRowStatistics(Var<T> weights, const WeightBlockPosition& place,
                        const AttentionStatistics& to) {
  const Shape& shape = weights.shape();
  const bool has_heads = shape.rank() == 4;
  const int64_t heads = has_heads ? shape[1] : 1;
  const int64_t queries = has_heads ? shape[2] : weights.rows();
  const auto keys = static_cast<size_t>(weights.cols());
  for (int64_t row = 0; row < weights.rows(); ++row) {
    const int64_t query = row % queries;
    ReadRow<T>(weights.span().subspan(static_cast<size_t>(row) * keys, keys),
               place, place.offset + query * place.step, to,
               to.Row(place.example + row / (heads * queries),
                      row / queries % heads, place.first_query + query));
  }
}

REGARD_INSTANTIATE_FUNCTION(WriteRowStatistics);

}  // namespace regard
