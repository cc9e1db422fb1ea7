// A model's parameters, and slabs laid out like them, as tensors in files.
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

// An error if the values of `parameters` exceed physical memory.
template <typename T>
absl::Status CheckMemory(const ParameterStore<T>& parameters) {
  if (parameters.problem().empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(parameters.problem());
}

// A shape as files of tensors have it.
std::vector<int64_t> Extents(const Shape& shape);

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

// The first parameter that has numbers which are not finite; empty if none has.
std::string ParameterNotFinite(const ParameterStore<float>& parameters);

// Reads all parameters. Numbers that are not finite are an error, too.
absl::Status LoadWeights(const std::string& path,
                         ParameterStore<float>& parameters);

// Says whether two models are bitwise equal.
//
// SHA-256, as hexadecimal digits, over the tensors sorted by the bytes of their
// names. Each contributes, with all integers as 64-bit little-endian: the
// length of its name, the name, its rank, its sizes, and its values as 32-bit
// little-endian floats. The lengths keep two different lists of tensors from
// giving one sequence of bytes.
std::string WeightsDigest(absl::Span<const TensorView> tensors);

}  // namespace regard

#endif  // NN_WEIGHTS_H_
