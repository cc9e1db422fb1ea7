#include "experiments/weights.h"

#include "absl/strings/str_cat.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

std::vector<int64_t> Extents(const Shape& shape) {
  std::vector<int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i) extents.push_back(shape[i]);
  return extents;
}

}  // namespace

std::vector<TensorView> SlabViews(const ParameterStore<float>& parameters,
                                  absl::Span<const float> slab,
                                  absl::string_view prefix) {
  std::vector<TensorView> views;
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

absl::Status LoadWeights(const std::string& path,
                         ParameterStore<float>& parameters) {
  REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                          SafetensorsReader::Open(path));
  return ReadSlab(reader, "", parameters, parameters.values());
}

}  // namespace regard
