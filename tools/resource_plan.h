// What an experiment will take, found without training it: parameters, memory
// and work.
#ifndef TOOLS_RESOURCE_PLAN_H_
#define TOOLS_RESOURCE_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "nlohmann/json_fwd.hpp"
#include "nn/parameters.h"

namespace regard {

class Experiment;

// The largest model, in elements, that is measured: values and gradients then
// take 2 GiB.
inline constexpr int64_t kMostMeasuredElements = int64_t{1} << 28;
// Positions that are measured: of a batch, or else of one example.
inline constexpr int64_t kMostMeasuredPositions = int64_t{1} << 16;

struct ResourcePlan {
  std::vector<ParameterInfo> parameters;  // in order of registration
  int64_t elements = 0;                   // of all of them
  // Bytes while training.
  int64_t value_bytes = 0;
  int threads = 0;  // that compute shards
  int gradient_slabs = 0;
  int64_t gradient_bytes = 0;   // of all slabs
  int64_t optimizer_bytes = 0;  // state of the optimizer
  // Of earlier weights and of moving averages: early_stopping, average and
  // ema_decay.
  int64_t selection_bytes = 0;
  // Copies of weights, which fast products of all threads read.
  int64_t packed_bytes = 0;
  // Of forward and backward of one shard a thread, for the largest batch; in
  // proportion from the examples that were measured. Absent for a model that is
  // too large.
  std::optional<int64_t> activation_bytes;
  // Floating-point operations in matrix products of a mean update, likewise.
  std::optional<double> update_flops;
  int64_t batch_examples = 0;  // of the largest batch
  int64_t measured_examples = 0;
  // The whole run has these, unless it ends early. Absent for a model that is
  // too large.
  std::optional<int64_t> updates;
};

// `config` is valid; training would run on `threads`, at least 1. An error is
// about data files, or about what does not fit them.
absl::StatusOr<ResourcePlan> MakeResourcePlan(const LoadedConfig& loaded,
                                              int threads,
                                              const Plugins& plugins);

// The plan as text for people, each line ended.
std::string ResourcePlanText(const ResourcePlan& plan,
                             const Experiment& config);

// The same as an object; bytes and FLOP that are not known are absent.
nlohmann::ordered_json ResourcePlanJson(const ResourcePlan& plan,
                                        const Experiment& config);

}  // namespace regard

#endif  // TOOLS_RESOURCE_PLAN_H_
