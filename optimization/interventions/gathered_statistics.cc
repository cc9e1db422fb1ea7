#include "optimization/interventions/gathered_statistics.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "optimization/ranks/value_bytes.h"

namespace regard {

void TakeStatistics(
    absl::Span<const std::unique_ptr<ConfiguredHook<float>>> hooks,
    Ranks& ranks, AccumulatedStatistics* sums) {
  std::vector<std::pair<std::string, AccumulatedStatistic>> measured;
  for (const auto& hook : hooks) {
    AccumulatedStatistics of_shard;
    hook->TakeStatistics(&of_shard);
    measured.insert(measured.end(), of_shard.begin(), of_shard.end());
  }
  std::string own;
  AppendBytes(measured, &own);
  // Texts are in the order of shards, because each rank has consecutive shards.
  for (const std::string& text : GatherTexts(ranks, own)) {
    absl::string_view bytes = text;
    TakeBytes(&bytes, &measured);
    for (const auto& [name, sum] : measured) (*sums)[name].Add(sum);
  }
}

}  // namespace regard
