#include "experiments/report/traced_maps.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/types/span.h"

namespace regard {
namespace {

LabelledMatrix MatrixOf(const TraceDescription& labels,
                        const AttentionMap<float>& map,
                        const std::vector<float>& numbers) {
  const int64_t queries = map.shape[2];
  const int64_t keys = map.shape[3];
  LabelledMatrix matrix = {.title = map.name,
                           .rows = labels.QueryLabels(map.site, queries),
                           .columns = labels.KeyLabels(map.site, keys),
                           .site = map.site};
  const auto all = absl::MakeConstSpan(numbers);
  const auto size = static_cast<size_t>(queries * keys);
  for (int64_t head = 0; head < map.shape[1]; ++head) {
    const auto head_rows = all.subspan(static_cast<size_t>(head) * size, size);
    matrix.heads.emplace_back(head_rows.begin(), head_rows.end());
  }
  if (map.over_memory) {
    for (const TraceDescription::Link& link : labels.gold) {
      matrix.gold.push_back({link.query, link.key});
    }
  }
  return matrix;
}

}  // namespace

LabelledMatrix WeightsOf(const TraceDescription& labels,
                         const AttentionMap<float>& map) {
  return MatrixOf(labels, map, map.weights);
}

LabelledMatrix GradientsOf(const TraceDescription& labels,
                           const AttentionMap<float>& map) {
  return MatrixOf(labels, map, map.gradients);
}

WeightedImage WeightedImageOf(const TracedImage& image,
                              std::vector<double> weights) {
  return {.height = image.height,
          .width = image.width,
          .rgb = image.rgb,
          .rows = image.rows,
          .columns = image.columns,
          .weights = std::move(weights)};
}

}  // namespace regard
