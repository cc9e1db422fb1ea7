#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "pretrained/class_names.h"
#include "pretrained/image_processor.h"
#include "pretrained/vit_fields.h"
#include "pretrained/vit_format.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The sizes of a model variant, and its name in timm, such as "base".
struct Variant {
  absl::string_view name;
  int width;
  int layers;
  int heads;
  double hidden = 4;  // as a multiple of the width
};
constexpr Variant kVariants[] = {
    {"tiny", 192, 12, 3},
    {"small", 384, 12, 6},
    {"base", 768, 12, 12},
    {"large", 1024, 24, 16},
    {"huge", 1280, 32, 16},
    {"giant", 1408, 40, 16, 48.0 / 11},
    {"gigantic", 1664, 48, 16, 64.0 / 13},
};

// A parsed model name: vit_SIZE_patchP_N or vit_SIZE_patchP_gap_N. With "gap",
// the model predicts classes from the mean of all patches.
struct TimmName {
  Variant variant;
  int patch = 0;
  bool mean = false;
};

std::optional<TimmName> CutTimmName(absl::string_view name) {
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '_');
  TimmName cut;
  cut.mean = parts.size() == 5 && parts[3] == "gap";
  if (parts.size() != (cut.mean ? 5 : 4) || parts[0] != "vit") {
    return std::nullopt;
  }
  const auto* const variant =
      std::ranges::find(kVariants, parts[1], &Variant::name);
  int side = 0;
  if (variant == std::end(kVariants) || parts[2].substr(0, 5) != "patch" ||
      !absl::SimpleAtoi(parts[2].substr(5), &cut.patch) || cut.patch < 1 ||
      !absl::SimpleAtoi(parts.back(), &side)) {
    return std::nullopt;
  }
  cut.variant = *variant;
  if (cut.mean) cut.variant.heads = 16;
  return cut;
}

// Reads "model_args", the arguments with which timm creates a model. All
// arguments are optional.
void ReadTimmArguments(const JsonObject& json, const TimmName& name,
                       VisionTransformerConfig* config) {
  constexpr const char* kKnown[] = {
      "img_size",         "patch_size",     "in_chans",       "num_classes",
      "global_pool",      "embed_dim",      "depth",          "num_heads",
      "mlp_ratio",        "qkv_bias",       "class_token",    "fc_norm",
      "pos_drop_rate",    "proj_drop_rate", "drop_path_rate", "attn_drop_rate",
      "dynamic_img_size", "weight_init",    "fix_init"};
  for (const auto& [key, value] : json.json().items()) {
    if (std::ranges::find(kKnown, key) == std::end(kKnown)) {
      json.AddProblem(key, absl::StrCat(absl::Utf8SafeCHexEscape(key),
                                        " is not a supported argument"));
    }
  }
  const auto rate = [&](const char* key) {
    return json.Real(key, 0, 0, 0.999);
  };
  TransformerConfig& transformer = *config->mutable_transformer();
  transformer.set_width(
      ReadSize(json, "embed_dim", name.variant.width, kMaxWidth));
  transformer.set_layers(
      ReadSize(json, "depth", name.variant.layers, kMaxLayers));
  MultiHead& attention = *transformer.mutable_attention();
  attention.set_heads(
      ReadSize(json, "num_heads", name.variant.heads, kMaxWidth));
  CheckHeads(json, "num_heads", transformer);
  attention.set_bias(json.Bool("qkv_bias", true));
  attention.mutable_attention()->set_dropout(rate("attn_drop_rate"));
  const double hidden = json.Real("mlp_ratio", name.variant.hidden, 0, 1024);
  FeedForwardConfig& feed_forward = *transformer.mutable_feed_forward();
  feed_forward.set_hidden(static_cast<int>(transformer.width() * hidden));
  feed_forward.set_activation(FeedForwardConfig::GELU);
  feed_forward.set_dropout(rate("proj_drop_rate"));
  transformer.set_dropout(rate("proj_drop_rate"));
  transformer.set_embedding_dropout(rate("pos_drop_rate"));
  transformer.set_drop_path(rate("drop_path_rate"));
  transformer.mutable_norm()->set_epsilon(1e-6);
  SetCommonVitFields(/*deviation=*/0.02, &transformer);
  const bool mean =
      json.Choice("global_pool", {"token", "avg"}, name.mean ? 1 : 0) == 1;
  if (json.Bool("class_token", !name.mean) == mean ||
      (mean && json.Bool("fc_norm", !name.mean))) {
    json.AddProblem("global_pool",
                    "with global_pool: avg, class_token and fc_norm must be "
                    "false; otherwise, class_token must be true");
  }
  config->set_pooling(mean ? VisionTransformerConfig::MEAN
                           : VisionTransformerConfig::CLASS_TOKEN);
}

}  // namespace

absl::StatusOr<VitDescription> ReadTimmConfig(const std::string& folder) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file,
                          JsonFile::Read(JoinPath(folder, "config.json")));
  const JsonObject json = file.root();
  VitDescription description;
  constexpr char kName[] = "architecture";
  const std::string name = json.Text(kName);
  const std::optional<TimmName> cut = CutTimmName(name);
  json.Require("pretrained_cfg");
  const auto pretrained = json.Object("pretrained_cfg");
  if (!cut.has_value()) {
    json.AddProblem(
        kName,
        absl::StrCat(
            "architecture must have the form vit_SIZE_patchP_N, but is '",
            absl::Utf8SafeCHexEscape(name), "'"));
  }
  if (!cut.has_value() || !pretrained.has_value()) return file.status();
  const std::vector<int64_t> input = pretrained->Has("input_size")
                                         ? pretrained->Counts("input_size")
                                         : std::vector<int64_t>{3, 224, 224};
  if (input.size() != 3 || !std::ranges::all_of(input, [](int64_t size) {
        return size >= 1 && size <= kMaxImageSide;
      })) {
    pretrained->AddProblem(
        "input_size",
        absl::StrCat("input_size must be three numbers from 1 to ",
                     kMaxImageSide));
    return file.status();
  }
  // The name determines all arguments if "model_args" is missing.
  JsonFile none = JsonFile::Parse("{}", "").value();
  const JsonObject arguments = json.Object("model_args").value_or(none.root());
  ReadTimmArguments(arguments, *cut, &description.config);
  description.config.set_patch(ReadPatch(arguments, cut->patch));
  const auto [height, width] =
      ReadHeightAndWidth(arguments, "img_size", {input[1], input[2]});
  description.format = ReadTimmFormat(
      *pretrained,
      {ReadColours(arguments, "in_chans", input[0]), height, width});
  const int64_t classes = json.Integer("num_classes", 0, 0, kMaxClasses);
  description.classes =
      ReadClasses(json, "label_names", UnnamedClasses(classes));
  if (static_cast<int64_t>(description.classes.size()) != classes) {
    json.AddProblem("label_names",
                    absl::StrCat("label_names must have ", classes,
                                 " names, the number in num_classes; got ",
                                 description.classes.size()));
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return description;
}

}  // namespace regard
