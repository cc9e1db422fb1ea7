// Estimates the parameters, memory and work of an experiment without training
// it.
#ifndef TOOLS_RESOURCE_ESTIMATE_H_
#define TOOLS_RESOURCE_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "nlohmann/json_fwd.hpp"
#include "nn/parameters.h"
#include "optimization/product_census.h"

namespace regard {

class Experiment;

// The maximum number of elements of a model that is measured. Its values and
// gradients take 2 GiB.
inline constexpr int64_t kMaxMeasuredElements = int64_t{1} << 28;
// The maximum number of positions of a measured batch, unless a single example
// has more.
inline constexpr int64_t kMaxMeasuredPositions = int64_t{1} << 16;

struct ResourceEstimate {
  // All parameters, in order of registration.
  std::vector<ParameterInfo> parameters;
  int64_t elements = 0;  // total number of elements
  // The memory of the parameters during training, in bytes.
  int64_t value_bytes = 0;
  int threads = 0;  // number of threads that compute shards
  int gradient_slabs = 0;
  int64_t gradient_bytes = 0;   // total of all slabs
  int64_t optimizer_bytes = 0;  // state of the optimizer
  // Memory of earlier weights and of moving averages (early_stopping, average
  // and ema_decay).
  int64_t selection_bytes = 0;
  // Packed copies of weights for matrix products. All threads share them.
  int64_t packed_bytes = 0;
  // Memory of the forward and backward pass of one shard per thread, for the
  // largest batch. Extrapolated from the measured examples. Absent if the model
  // is too large to measure.
  std::optional<int64_t> activation_bytes;
  // Floating-point operations in the matrix products of a mean optimizer step.
  // Extrapolated from the measured examples. Absent if the model is too large
  // to measure.
  std::optional<double> update_flops;
  // The matrix products of a forward pass over a few examples. Empty if none of
  // them round their operands, or if the model is too large to measure.
  std::vector<OperationFlops> products;
  int64_t batch_examples = 0;  // examples in the largest batch
  int64_t measured_examples = 0;
  // The number of optimizer steps of the run, if it does not end early. Absent
  // if the model is too large to measure.
  std::optional<int64_t> updates;
};

// Estimates the resources of a valid config for training on `threads` threads,
// at least 1. Errors are about data files, or about fields that do not match
// them.
absl::StatusOr<ResourceEstimate> EstimateResources(const LoadedConfig& loaded,
                                                   int threads,
                                                   const Plugins& plugins);

// Returns the estimate as text. Every line ends with a newline.
std::string ResourceEstimateText(const ResourceEstimate& estimate,
                                 const Experiment& config);

// Returns the estimate as a JSON object. Unknown numbers of bytes and
// operations are absent.
nlohmann::ordered_json ResourceEstimateJson(const ResourceEstimate& estimate,
                                            const Experiment& config);

}  // namespace regard

#endif  // TOOLS_RESOURCE_ESTIMATE_H_
