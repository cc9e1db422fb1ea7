// A model's parameters, and slabs laid out like them, as tensors on the disk.
#ifndef EXPERIMENTS_WEIGHTS_H_
#define EXPERIMENTS_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/run/safetensors.h"
#include "experiments/run/tensor_view.h"
#include "nn/parameters.h"

namespace regard {

// One view per parameter of a slab laid out as `parameters`; names get `prefix`
// in front.
std::vector<TensorView> SlabViews(const ParameterStore<float>& parameters,
                                  absl::Span<const float> slab,
                                  absl::string_view prefix);

// Fills a slab from tensors of those names. A missing tensor, or one of another
// shape, is an error that names it.
absl::Status ReadSlab(const SafetensorsReader& reader, absl::string_view prefix,
                      const ParameterStore<float>& parameters,
                      absl::Span<float> slab);

// Fills the parameters from a weights file.
absl::Status LoadWeights(const std::string& path,
                         ParameterStore<float>& parameters);

}  // namespace regard

#endif  // EXPERIMENTS_WEIGHTS_H_
