#include "pretrained/vit_format.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "pretrained/activation_names.h"
#include "pretrained/class_names.h"
#include "pretrained/image_processor.h"
#include "pretrained/vit_fields.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

void ReadTransformer(const JsonObject& json, TransformerConfig* transformer) {
  const auto rate = [&](const char* key) {
    return json.Real(key, 0, 0, 0.999);
  };
  transformer->set_width(
      ReadSize(json, "hidden_size", std::nullopt, kMaxWidth));
  transformer->set_layers(
      ReadSize(json, "num_hidden_layers", std::nullopt, kMaxLayers));
  MultiHead& attention = *transformer->mutable_attention();
  constexpr char kHeads[] = "num_attention_heads";
  attention.set_heads(ReadSize(json, kHeads, std::nullopt, kMaxWidth));
  CheckHeads(json, kHeads, *transformer);
  attention.set_bias(json.Bool("qkv_bias", true));
  attention.mutable_attention()->set_dropout(
      rate("attention_probs_dropout_prob"));
  FeedForwardConfig& feed_forward = *transformer->mutable_feed_forward();
  feed_forward.set_hidden(
      ReadSize(json, "intermediate_size", std::nullopt, kMaxHidden));
  feed_forward.set_activation(
      ReadActivation(json, "hidden_act", FeedForwardConfig::GELU));
  transformer->set_dropout(rate("hidden_dropout_prob"));
  transformer->mutable_norm()->set_epsilon(
      json.Real("layer_norm_eps", 1e-12, 1e-30, 1));
  SetCommonVitFields(json.Real("initializer_range", 0.02, 0, 100), transformer);
}

// Parameters of a layer, and their names in a file.
struct LayerParameterName {
  const char* ours;
  const char* theirs;
  int part = 0;
  int parts = 1;
};

constexpr LayerParameterName kTransformers[] = {
    {"attention_norm.*", "layernorm_before.*"},
    {"attention.query.*", "attention.attention.query.*"},
    {"attention.key.*", "attention.attention.key.*"},
    {"attention.value.*", "attention.attention.value.*"},
    {"attention.output.*", "attention.output.dense.*"},
    {"feed_forward_norm.*", "layernorm_after.*"},
    {"feed_forward.input.*", "intermediate.dense.*"},
    {"feed_forward.output.*", "output.dense.*"},
};
constexpr LayerParameterName kTimm[] = {
    {"attention_norm.*", "norm1.*"},
    {"attention.query.*", "attn.qkv.*", 0, 3},
    {"attention.key.*", "attn.qkv.*", 1, 3},
    {"attention.value.*", "attn.qkv.*", 2, 3},
    {"attention.output.*", "attn.proj.*"},
    {"feed_forward_norm.*", "norm2.*"},
    {"feed_forward.input.*", "mlp.fc1.*"},
    {"feed_forward.output.*", "mlp.fc2.*"},
};

}  // namespace

absl::StatusOr<VitDescription> ParseVitConfig(absl::string_view text,
                                              absl::string_view path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, path));
  const JsonObject json = file.root();
  VitDescription description;
  json.Choice("model_type", {"vit"});
  ReadTransformer(json, description.config.mutable_transformer());
  description.config.set_patch(ReadPatch(json, 16));
  const auto [height, width] =
      ReadHeightAndWidth(json, "image_size", {224, 224});
  description.format.set_height(static_cast<int>(height));
  description.format.set_width(static_cast<int>(width));
  description.format.set_grey(ReadColours(json, "num_channels", 3) == 1);
  description.classes = ReadClasses(
      json, "id2label",
      UnnamedClasses(json.Integer("num_labels", 2, 0, kMaxClasses)));
  json.Choice("problem_type", {"single_label_classification"}, 0);
  REGARD_RETURN_IF_ERROR(file.status());
  return description;
}

absl::StatusOr<VitDescription> ReadVitConfig(const std::string& folder) {
  const std::string path = JoinPath(folder, "config.json");
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  REGARD_ASSIGN_OR_RETURN(VitDescription description,
                          ParseVitConfig(text, path));
  description.format.set_filter(ImageFormat::BILINEAR);
  if (!HasImageProcessor(folder)) return description;
  REGARD_ASSIGN_OR_RETURN(description.format,
                          ReadImageProcessor(folder, description.format));
  return description;
}

std::string VitConfigText(const VitDescription& description) {
  const TransformerConfig& transformer = description.config.transformer();
  const FeedForwardConfig& feed_forward = transformer.feed_forward();
  const ImageFormat& format = description.format;
  nlohmann::ordered_json json;
  json["architectures"] = {"ViTForImageClassification"};
  json["model_type"] = "vit";
  json["hidden_size"] = transformer.width();
  json["num_hidden_layers"] = transformer.layers();
  json["num_attention_heads"] = transformer.attention().heads();
  json["intermediate_size"] = feed_forward.hidden() > 0
                                  ? feed_forward.hidden()
                                  : 4 * transformer.width();
  json["hidden_act"] = std::string(ActivationName(feed_forward.activation()));
  json["hidden_dropout_prob"] = transformer.dropout();
  json["attention_probs_dropout_prob"] =
      transformer.attention().attention().dropout();
  json["initializer_range"] = transformer.initialization().standard_deviation();
  json["layer_norm_eps"] = transformer.norm().epsilon();
  json["image_size"] = {format.height(), format.width()};
  if (format.height() == format.width()) json["image_size"] = format.height();
  json["patch_size"] = description.config.patch();
  json["num_channels"] = format.grey() ? 1 : 3;
  json["qkv_bias"] = transformer.attention().bias();
  WriteClasses(description.classes, &json);
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

WeightTable VitWeights(const VitDescription& description, VitNames names,
                       bool head) {
  const int64_t width = description.config.transformer().width();
  const int64_t patch = description.config.patch();
  const ImageFormat& format = description.format;
  const int64_t tokens =
      (description.config.pooling() == VisionTransformerConfig::CLASS_TOKEN) +
      format.height() / patch * (format.width() / patch);
  const bool timm = names == VitNames::kTimm;
  const std::string embedded =
      timm ? "patch_embed.proj" : "vit.embeddings.patch_embeddings.projection";
  const std::string of_head = timm ? "head." : "classifier.";
  WeightTable table = {
      .names = {{.ours = "encoder.patch_embedding.weight",
                 .theirs = embedded + ".weight",
                 .shape = {width, format.grey() ? 1 : 3, patch, patch}},
                {.ours = "encoder.patch_embedding.bias",
                 .theirs = embedded + ".bias"},
                {.ours = "encoder.class_token",
                 .theirs = timm ? "cls_token" : "vit.embeddings.cls_token",
                 .shape = {1, 1, width}},
                {.ours = "encoder.position_embedding.weight",
                 .theirs =
                     timm ? "pos_embed" : "vit.embeddings.position_embeddings",
                 .shape = {1, tokens, width}},
                {.ours = "encoder.norm.*",
                 .theirs = timm ? "norm.*" : "vit.layernorm.*"}},
      .prefix = timm ? "" : "vit."};
  for (const LayerParameterName& line :
       timm ? absl::MakeConstSpan(kTimm) : absl::MakeConstSpan(kTransformers)) {
    table.names.push_back(
        {.ours = absl::StrCat("encoder.layers.*.", line.ours),
         .theirs = absl::StrCat(timm ? "blocks.*." : "vit.encoder.layer.*.",
                                line.theirs),
         .part = line.part,
         .parts = line.parts});
  }
  if (head) {
    table.names.push_back({.ours = "head.*",
                           .theirs = absl::StrCat(of_head, "*"),
                           .of_task = true});
  } else {
    table.ignored.push_back(absl::StrCat(of_head, "**"));
  }
  if (!timm) {
    table.ignored.insert(table.ignored.end(),
                         {"pooler.**", "embeddings.mask_token"});
  }
  return table;
}

}  // namespace regard
