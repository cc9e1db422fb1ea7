// The statistics of a batch whose shards several ranks have computed.
#ifndef OPTIMIZATION_INTERVENTIONS_GATHERED_STATISTICS_H_
#define OPTIMIZATION_INTERVENTIONS_GATHERED_STATISTICS_H_

#include <memory>

#include "absl/types/span.h"
#include "optimization/interventions/configured_probe.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Adds what each shard's probe has measured since the last call to `sums`, in
// the order of shards, the same on all ranks. `probes` has one for each shard
// of the batch; those of other ranks' shards have measured nothing.
void TakeStatistics(
    absl::Span<const std::unique_ptr<ConfiguredProbe<float>>> probes,
    Ranks& ranks, StatisticSums* sums);

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_GATHERED_STATISTICS_H_
