#include "pretrained/vit_fields.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/multi_head.pb.h"
#include "attention/transformer/transformer.pb.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"

namespace regard {

int ReadSize(const JsonObject& json, const char* key,
             std::optional<int64_t> otherwise, int64_t most) {
  return static_cast<int>(json.Integer(key, otherwise, 1, most));
}

std::pair<int64_t, int64_t> ReadHeightAndWidth(
    const JsonObject& json, const char* key,
    std::pair<int64_t, int64_t> otherwise) {
  if (!json.Has(key)) return otherwise;
  if (!json.json()[key].is_array()) {
    const int64_t both = json.Integer(key, std::nullopt, 1, kMaxImageSide);
    return {both, both};
  }
  const std::vector<int64_t> sides = json.Counts(key);
  if (sides.size() == 2 && std::ranges::all_of(sides, [](int64_t side) {
        return side >= 1 && side <= kMaxImageSide;
      })) {
    return {sides[0], sides[1]};
  }
  json.AddProblem(key,
                  absl::StrCat(key, " must be a height and a width from 1 to ",
                               kMaxImageSide));
  return {1, 1};
}

int ReadPatch(const JsonObject& json, int64_t otherwise) {
  constexpr char kKey[] = "patch_size";
  const auto [height, width] =
      ReadHeightAndWidth(json, kKey, {otherwise, otherwise});
  if (height != width || height > 1024) {
    json.AddProblem(
        kKey, absl::StrCat(kKey, " must be square and at most 1024, but is ",
                           height, " x ", width));
  }
  return static_cast<int>(height);
}

int64_t ReadColours(const JsonObject& json, const char* key,
                    int64_t otherwise) {
  const int64_t colours = json.Integer(key, otherwise);
  if (colours != 1 && colours != 3) {
    json.AddProblem(key,
                    absl::StrCat(key, " must be 1 or 3, but is ", colours));
  }
  return colours;
}

void CheckHeads(const JsonObject& json, const char* key,
                const TransformerConfig& transformer) {
  const int heads = transformer.attention().heads();
  if (transformer.width() % heads == 0) return;
  json.AddProblem(key, absl::StrCat(key, " ", heads, " must divide the width ",
                                    transformer.width()));
}

void SetCommonVitFields(double deviation, TransformerConfig* transformer) {
  transformer->mutable_attention()->set_output_bias(true);
  transformer->mutable_attention()->mutable_attention()->mutable_scaled_dot();
  transformer->mutable_position_embedding()->set_kind(
      PositionEmbeddingConfig::LEARNED);
  TransformerInitialization& initialization =
      *transformer->mutable_initialization();
  initialization.set_weights(TRUNCATED_NORMAL);
  initialization.set_standard_deviation(deviation);
  initialization.set_zero_bias(true);
}

}  // namespace regard
