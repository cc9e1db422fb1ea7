// Collects the statistics of a batch whose shards several ranks computed.
#ifndef OPTIMIZATION_INTERVENTIONS_GATHERED_STATISTICS_H_
#define OPTIMIZATION_INTERVENTIONS_GATHERED_STATISTICS_H_

#include <memory>

#include "absl/types/span.h"
#include "optimization/interventions/configured_hook.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Adds to `sums` the statistics that each shard's hook has measured since the
// last call. Adds them in the order of shards, so that all ranks get the same
// sums. `hooks` contains one hook for each shard of the batch. The hooks of
// other ranks' shards have measured nothing.
void TakeStatistics(
    absl::Span<const std::unique_ptr<ConfiguredHook<float>>> hooks,
    Ranks& ranks, AccumulatedStatistics* sums);

}  // namespace regard

#endif  // OPTIMIZATION_INTERVENTIONS_GATHERED_STATISTICS_H_
