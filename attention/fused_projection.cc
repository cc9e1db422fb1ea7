#include "attention/fused_projection.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

enum Part { kQuery, kKey, kValue };
constexpr const char* kNames[] = {"query", "key", "value"};

// Where the outputs of the separate projections are among the fused ones.
struct Layout {
  FusedProjection::Order order;
  int64_t heads;
  int64_t key_heads;
  int64_t head_width;

  int64_t group() const { return heads / key_heads; }
  int64_t HeadsOf(Part part) const {
    return part == kQuery ? heads : key_heads;
  }
  int64_t outputs() const { return (heads + 2 * key_heads) * head_width; }

  // The first fused output of a head.
  int64_t First(Part part, int64_t head) const {
    if (order == FusedProjection::Order::kQueryKeyValue) {
      const int64_t before =
          part == kQuery ? 0 : heads + (part == kValue ? key_heads : 0);
      return (before + head) * head_width;
    }
    const int64_t key_head = part == kQuery ? head / group() : head;
    const int64_t inside =
        part == kQuery ? head % group() : group() + (part == kValue ? 1 : 0);
    return (key_head * (group() + 2) + inside) * head_width;
  }
};

}  // namespace

template <typename T>
absl::Status ImportFusedProjection(const FusedProjection& fused,
                                   const MultiHeadAttention<T>& layer,
                                   absl::string_view scope,
                                   ParameterStore<T>& store) {
  const Layout layout = {fused.order, layer.heads(), layer.key_heads(),
                         layer.head_width()};
  const auto find = [&](Part part, const char* name) {
    return store.FindByName(
        absl::StrCat(scope, scope.empty() ? "" : ".", kNames[part], ".", name));
  };
  const auto weight = find(kQuery, "weight");
  REGARD_CHECK(weight.has_value()) << "no layer at " << std::string(scope);
  const int64_t inputs = store.info(*weight).shape[1];
  const int64_t outputs = layout.outputs();
  if (static_cast<int64_t>(fused.weight.size()) != outputs * inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a fused weight of ", fused.weight.size(), " numbers; the layer takes ",
        outputs, " outputs of ", inputs, " inputs"));
  }
  const bool has_bias = find(kQuery, "bias").has_value();
  const int64_t biases = has_bias ? outputs : 0;
  if (static_cast<int64_t>(fused.bias.size()) != biases) {
    return absl::InvalidArgumentError(
        absl::StrCat("a fused bias of ", fused.bias.size(),
                     " numbers; the layer takes ", biases));
  }
  for (const Part part : {kQuery, kKey, kValue}) {
    const auto part_weight = find(part, "weight");
    if (store.info(*part_weight).shape[1] != inputs) {
      return absl::InvalidArgumentError(
          absl::StrCat("queries and ", kNames[part], "s of different inputs, ",
                       inputs, " and ", store.info(*part_weight).shape[1],
                       ": they cannot come from one projection"));
    }
    const auto weights = store.value(*part_weight);
    for (int64_t row = 0; row < layout.HeadsOf(part) * layout.head_width;
         ++row) {
      const int64_t from =
          layout.First(part, row / layout.head_width) + row % layout.head_width;
      for (int64_t i = 0; i < inputs; ++i) {
        weights[row * inputs + i] = static_cast<T>(
            fused.weight[fused.inputs_first ? i * outputs + from
                                            : from * inputs + i]);
      }
      if (has_bias) {
        store.value(*find(part, "bias"))[row] =
            static_cast<T>(fused.bias[from]);
      }
    }
  }
  return absl::OkStatus();
}

template absl::Status ImportFusedProjection(const FusedProjection&,
                                            const MultiHeadAttention<float>&,
                                            absl::string_view,
                                            ParameterStore<float>&);
template absl::Status ImportFusedProjection(const FusedProjection&,
                                            const MultiHeadAttention<double>&,
                                            absl::string_view,
                                            ParameterStore<double>&);

}  // namespace regard
