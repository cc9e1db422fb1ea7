// Reads and writes the parameters of a model, or slabs with the same layout as
// the parameters. In files, each parameter is a tensor.
#ifndef NN_WEIGHTS_H_
#define NN_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "autodiff/shape.h"
#include "files/safetensors.h"
#include "nn/parameters.h"

namespace regard {

// Returns an error if the values of `parameters` exceed physical memory.
template <typename T>
absl::Status CheckMemory(const ParameterStore<T>& parameters) {
  if (parameters.problem().empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(parameters.problem());
}

// Returns a shape in the form that tensor files use.
std::vector<int64_t> Extents(const Shape& shape);

// Returns one view for each parameter of a slab with the layout of
// `parameters`. Names get the prefix `prefix`.
std::vector<NamedTensorView> SlabViews(const ParameterStore<float>& parameters,
                                       absl::Span<const float> slab,
                                       absl::string_view prefix);

// Fills a slab. The tensor of each parameter is named `prefix` + parameter
// name. If a tensor is missing or has another shape, returns an error with its
// name.
absl::Status ReadSlab(const SafetensorsReader& reader, absl::string_view prefix,
                      const ParameterStore<float>& parameters,
                      absl::Span<float> slab);

// Returns the name of the first parameter with a non-finite number, or "" if
// all numbers are finite.
std::string FindNonFiniteParameter(const ParameterStore<float>& parameters);

// Reads all parameters from a file. Non-finite numbers are an error.
absl::Status LoadWeights(const std::string& path,
                         ParameterStore<float>& parameters);

// Returns a digest of the weights of a model. Two models have equal digests if
// and only if the names, shapes and bits of their weights are equal.
//
// The digest is the SHA-256, in hexadecimal digits, of the tensors, sorted by
// the bytes of their names. Each tensor contributes the length of its name, the
// name, its rank, its sizes, and its values as 32-bit little-endian floats.
// Integers are 64-bit little-endian. The lengths make sure that different lists
// of tensors give different bytes.
std::string WeightsDigest(absl::Span<const NamedTensorView> tensors);

}  // namespace regard

#endif  // NN_WEIGHTS_H_
