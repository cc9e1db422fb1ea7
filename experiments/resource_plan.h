// What an experiment will take, found without training it: parameters, memory
// and work.
#ifndef EXPERIMENTS_RESOURCE_PLAN_H_
#define EXPERIMENTS_RESOURCE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/scorer_registry.h"
#include "autodiff/shape.h"
#include "experiments/experiment.pb.h"

namespace regard {

// A translation problem known by its sizes alone, so that no data is read.
struct AssumedSentences {
  int source_vocabulary = 0;  // reserved tokens included, at least 4
  int target_vocabulary = 0;
  int source_words = 10;  // of every sentence, <eos> apart; at least 1
  int target_words = 10;
};

struct PlannedParameter {
  std::string name;
  Shape shape;
};

// The largest model, in elements, that is measured: values and gradients then
// take 2 GiB.
inline constexpr int64_t kMostMeasuredElements = int64_t{1} << 28;

struct ResourcePlan {
  std::vector<PlannedParameter> parameters;  // in order of registration
  int64_t elements = 0;                      // of all of them
  // Bytes while training.
  int64_t value_bytes = 0;
  int threads = 0;  // that compute shards
  int gradient_slabs = 0;
  int64_t gradient_bytes = 0;   // of all slabs
  int64_t optimizer_bytes = 0;  // state of the optimizer
  // Of forward and backward of one shard a thread; in proportion from the
  // examples that were measured. Absent for a model that is too large.
  std::optional<int64_t> activation_bytes;
  // Floating-point operations in matrix products of one update, likewise.
  std::optional<double> update_flops;
  int64_t measured_examples = 0;
  // Absent where the number of examples is not known.
  std::optional<int64_t> updates;
};

// `config` is valid; training would run on `threads`, at least 1. With
// `assumed`, which must be a translation's, no data is read; otherwise an error
// is about the corpus file.
absl::StatusOr<ResourcePlan> MakeResourcePlan(
    const Experiment& config, int threads, const ScorerRegistry& scorers,
    const std::optional<AssumedSentences>& assumed);

// The plan as text for people, each line ended.
std::string ResourcePlanText(const ResourcePlan& plan,
                             const Experiment& config);

}  // namespace regard

#endif  // EXPERIMENTS_RESOURCE_PLAN_H_
