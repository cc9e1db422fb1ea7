#include "language/prefix_matching.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "attention/inspection/attention_maps.h"

namespace regard {

int64_t AddPrefixMatching(absl::Span<const int32_t> ids,
                          absl::Span<const float> weights,
                          absl::Span<double> sums) {
  int64_t positions = 0;
  for (size_t query = 1; query < ids.size(); ++query) {
    bool found = false;
    for (size_t before = 0; before < query; ++before) {
      if (ids[before] != ids[query]) continue;
      found = true;
      for (size_t head = 0; head < sums.size(); ++head) {
        const size_t row = (head * ids.size() + query) * ids.size();
        sums[head] += static_cast<double>(weights[row + before + 1]);
      }
    }
    if (found) ++positions;
  }
  return positions;
}

double PrefixMatching(const LanguageModel& model, Forward<float>& forward,
                      const EncodedText& text) {
  std::map<std::string, std::vector<double>> sums;  // by layer and head
  int64_t positions = 0;
  for (size_t i = 0; i + 1 < text.lines.size(); ++i) {
    // <eos> is never read.
    const int64_t length = text.lines[i + 1] - text.lines[i] - 1;
    const absl::Span<const int32_t> ids =
        absl::MakeConstSpan(text.ids).subspan(text.lines[i], length);
    forward.BeginStep();
    int64_t of_line = 0;
    for (const AttentionMap<float>& map : RecordAttentionMaps(
             forward, {kAllMaps},
             [&] { model.decoder().Run(forward, {.sources = 1}, ids); })) {
      std::vector<double>& of_layer = sums[map.name];
      of_layer.resize(static_cast<size_t>(map.shape[1]));
      of_line = AddPrefixMatching(ids, map.weights, absl::MakeSpan(of_layer));
    }
    positions += of_line;
  }
  double greatest = 0;
  for (const auto& [name, of_layer] : sums) {
    greatest = std::max(greatest, *std::ranges::max_element(of_layer));
  }
  return greatest / static_cast<double>(std::max<int64_t>(positions, 1));
}

}  // namespace regard
