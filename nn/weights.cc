#include "nn/weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "files/sha256.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::vector<int64_t> Extents(const Shape& shape) {
  std::vector<int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return extents;
}

std::vector<NamedTensorView> SlabViews(const ParameterStore<float>& parameters,
                                       absl::Span<const float> slab,
                                       absl::string_view prefix) {
  std::vector<NamedTensorView> views;
  for (const ParameterInfo& info : parameters.parameters()) {
    views.push_back({absl::StrCat(prefix, info.name), Extents(info.shape),
                     slab.subspan(static_cast<size_t>(info.offset),
                                  static_cast<size_t>(info.size()))});
  }
  return views;
}

absl::Status ReadSlab(const SafetensorsReader& reader, absl::string_view prefix,
                      const ParameterStore<float>& parameters,
                      absl::Span<float> slab) {
  for (const ParameterInfo& info : parameters.parameters()) {
    REGARD_RETURN_IF_ERROR(
        reader.Read(absl::StrCat(prefix, info.name), Extents(info.shape),
                    slab.subspan(static_cast<size_t>(info.offset),
                                 static_cast<size_t>(info.size()))));
  }
  return absl::OkStatus();
}

std::string FindNonFiniteParameter(const ParameterStore<float>& parameters) {
  for (const NamedTensorView& tensor :
       SlabViews(parameters, parameters.values(), "")) {
    if (!std::ranges::all_of(tensor.values,
                             [](float x) { return std::isfinite(x); })) {
      return tensor.name;
    }
  }
  return "";
}

absl::Status LoadWeights(const std::string& path,
                         ParameterStore<float>& parameters) {
  REGARD_RETURN_IF_ERROR(CheckMemory(parameters));
  REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                          SafetensorsReader::Open(path));
  REGARD_RETURN_IF_ERROR(ReadSlab(reader, "", parameters, parameters.values()));
  const std::string name = FindNonFiniteParameter(parameters);
  if (name.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": tensor '", name,
      "' has numbers that are not finite; all weights must be finite"));
}

namespace {

static_assert(std::endian::native == std::endian::little);

void UpdateInteger(Sha256& sha256, uint64_t value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(value)>>(value);
  sha256.Update(absl::string_view(bytes.data(), bytes.size()));
}

}  // namespace

std::string WeightsDigest(absl::Span<const NamedTensorView> tensors) {
  std::vector<const NamedTensorView*> order;
  for (const NamedTensorView& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(),
            [](const NamedTensorView* a, const NamedTensorView* b) {
              return a->name < b->name;
            });
  Sha256 sha256;
  for (const NamedTensorView* tensor : order) {
    UpdateInteger(sha256, tensor->name.size());
    sha256.Update(tensor->name);
    UpdateInteger(sha256, tensor->shape.size());
    for (const int64_t size : tensor->shape) UpdateInteger(sha256, size);
    sha256.Update(
        absl::string_view(reinterpret_cast<const char*>(tensor->values.data()),
                          tensor->values.size() * sizeof(float)));
  }
  return sha256.HexDigest();
}

}  // namespace regard
