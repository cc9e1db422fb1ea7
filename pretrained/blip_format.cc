#include "pretrained/blip_format.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"
#include "data/text/wordpiece_config.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "pretrained/activation_names.h"
#include "pretrained/image_processor.h"
#include "pretrained/tied_embeddings.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMaxSize = 65536;
constexpr char kArchitecture[] = "BlipForConditionalGeneration";

// Returns the defaults of BLIP's processor.
ImageFormat DefaultImages(int size) {
  ImageFormat format;
  format.set_height(size);
  format.set_width(size);
  format.mutable_mean()->set_red(0.48145466);
  format.mutable_mean()->set_green(0.4578275);
  format.mutable_mean()->set_blue(0.40821073);
  format.mutable_deviation()->set_red(0.26862954);
  format.mutable_deviation()->set_green(0.26130258);
  format.mutable_deviation()->set_blue(0.27577711);
  return format;
}

int SizeOf(const JsonObject& json, const char* key, int64_t otherwise,
           int64_t most = kMaxSize) {
  return static_cast<int>(json.Integer(key, otherwise, 1, most));
}

double RateOf(const JsonObject& json, const char* key) {
  return json.Real(key, 0, 0, 0.999);
}

// Reads the fields that the image encoder and the text decoder have in common.
// Absent fields have the defaults of transformers.
void ReadTransformer(const JsonObject& json, int heads, double epsilon,
                     TransformerConfig* config) {
  config->set_width(SizeOf(json, "hidden_size", 768));
  config->set_layers(SizeOf(json, "num_hidden_layers", 12, 256));
  heads = SizeOf(json, "num_attention_heads", heads);
  config->mutable_attention()->set_heads(heads);
  if (config->width() % heads != 0) {
    json.AddProblem("num_attention_heads",
                    absl::StrCat("num_attention_heads ", heads,
                                 " must divide hidden_size ", config->width()));
  }
  FeedForwardConfig& feed_forward = *config->mutable_feed_forward();
  feed_forward.set_hidden(SizeOf(json, "intermediate_size", 3072, 1 << 20));
  feed_forward.set_activation(
      ReadActivation(json, "hidden_act", FeedForwardConfig::GELU));
  config->mutable_norm()->set_epsilon(
      json.Real("layer_norm_eps", epsilon, 1e-30, 1));
  config->mutable_position_embedding()->set_kind(
      PositionEmbeddingConfig::LEARNED);
}

void ReadVision(const JsonObject& json, BlipDescription* description) {
  VisionTransformerConfig& vision =
      *description->config.mutable_vision_transformer();
  TransformerConfig& transformer = *vision.mutable_transformer();
  ReadTransformer(json, /*heads=*/12, /*epsilon=*/1e-5, &transformer);
  transformer.mutable_attention()->mutable_attention()->set_dropout(
      RateOf(json, "attention_dropout"));
  const int size = SizeOf(json, "image_size", 384, 4096);
  vision.set_patch(SizeOf(json, "patch_size", 16, 1024));
  if (size % vision.patch() != 0) {
    json.AddProblem("patch_size",
                    absl::StrCat("patch_size ", vision.patch(),
                                 " must divide image_size ", size));
  }
  if (json.Integer("num_channels", 3) != 3) {
    json.AddProblem("num_channels", "num_channels must be 3");
  }
  description->images = DefaultImages(size);
}

// Requires that the field `key` is the id of `token` in the vocabulary.
void RequireId(const JsonObject& json, const char* key, int64_t otherwise,
               const WordPiece& pieces, const std::string& token) {
  const int32_t wanted = pieces.Find(token);
  const int64_t id = json.Integer(key, otherwise);
  if (id == wanted) return;
  json.AddProblem(
      key, wanted < 0 ? absl::StrCat(key, " is ", id,
                                     ", but the tokenizer has no token ", token,
                                     "; its vocabulary must contain it")
                      : absl::StrCat(key, " must be ", wanted,
                                     ", the id of the tokenizer's ", token));
}

void ReadTokens(const JsonObject& json, const WordPieceTokenizer& tokenizer,
                BlipDescription* description) {
  const WordPiece& pieces = *tokenizer.pieces;
  CaptionerConfig& config = description->config;
  *config.mutable_tokens() = ToTokenConfig(tokenizer.options);
  RequireId(json, "sep_token_id", 102, pieces, tokenizer.options.separator);
  RequireId(json, "pad_token_id", 0, pieces, tokenizer.options.padding);
  const int64_t begin = json.Integer("bos_token_id", 30522);
  if (begin < pieces.size()) {
    config.set_begin(pieces.Token(static_cast<int32_t>(begin)));
  } else if (begin > pieces.size()) {
    json.AddProblem("bos_token_id",
                    absl::StrCat("bos_token_id must be at most ", pieces.size(),
                                 ", the number of tokens"));
  }
  const int64_t least = std::max<int64_t>(pieces.size(), begin + 1);
  config.set_ids(SizeOf(json, "vocab_size", 30524, 1 << 24));
  if (config.ids() < least) {
    json.AddProblem(
        "vocab_size",
        absl::StrCat("vocab_size must be at least ", least,
                     ": it must cover all tokens and bos_token_id"));
  }
  description->ids = {
      .count = config.ids(),
      .special = {.begin = static_cast<int32_t>(begin),
                  .end = pieces.separator(),
                  .pad = pieces.Find(tokenizer.options.padding)}};
}

void ReadText(const JsonObject& json, TransformerConfig* decoder) {
  ReadTransformer(json, /*heads=*/8, /*epsilon=*/1e-12, decoder);
  decoder->set_dropout(RateOf(json, "hidden_dropout_prob"));
  decoder->mutable_attention()->mutable_attention()->set_dropout(
      RateOf(json, "attention_probs_dropout_prob"));
  decoder->mutable_position_embedding()->set_longest(
      SizeOf(json, "max_position_embeddings", 512, 1 << 20));
  decoder->mutable_feed_forward()->set_chunk(
      static_cast<int>(json.Integer("chunk_size_feed_forward", 0, 0, 1 << 20)));
  decoder->set_norm_order(TransformerConfig::POST);
  decoder->set_scale_embedding(false);
  decoder->set_embedding_norm(true);
  decoder->set_output_transform(true);
  decoder->set_tied_embeddings(TransformerConfig::TARGET_OUTPUT);
  if (!json.Bool("is_decoder", true)) {
    json.AddProblem("is_decoder",
                    "is_decoder must be true: a caption is written "
                    "by a decoder");
  }
}

}  // namespace

absl::StatusOr<BlipDescription> ReadBlipConfig(
    const std::string& folder, const WordPieceTokenizer& tokenizer) {
  const std::string path = JoinPath(folder, "config.json");
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  REGARD_ASSIGN_OR_RETURN(BlipDescription description,
                          ParseBlipConfig(text, path, tokenizer));
  REGARD_ASSIGN_OR_RETURN(description.images,
                          ReadImageProcessor(folder, description.images));
  return description;
}

absl::StatusOr<BlipDescription> ParseBlipConfig(
    absl::string_view text, absl::string_view path,
    const WordPieceTokenizer& tokenizer) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, path));
  const JsonObject root = file.root();
  root.Require("vision_config");
  root.Require("text_config");
  BlipDescription description;
  if (const auto json = root.Object("vision_config")) {
    ReadVision(*json, &description);
  }
  if (const auto json = root.Object("text_config")) {
    ReadText(*json, description.config.mutable_decoder());
    ReadTokens(*json, tokenizer, &description);
    RequireTiedEmbeddings(*json);
  }
  RequireTiedEmbeddings(root);
  // Other BLIP models have parts that captioners do not need.
  if (constexpr char kKinds[] = "architectures"; root.Has(kKinds)) {
    for (const std::string& kind : root.TextList(kKinds)) {
      if (kind == kArchitecture) continue;
      root.AddProblem(
          kKinds,
          absl::StrCat("'", kind, "' is not supported; use ", kArchitecture));
    }
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return description;
}

std::string BlipConfigText(const BlipDescription& description) {
  const CaptionerConfig& config = description.config;
  const auto common = [](const TransformerConfig& transformer) {
    const FeedForwardConfig& feed_forward = transformer.feed_forward();
    nlohmann::ordered_json json;
    json["hidden_size"] = transformer.width();
    json["num_hidden_layers"] = transformer.layers();
    json["num_attention_heads"] = transformer.attention().heads();
    json["intermediate_size"] = feed_forward.hidden() > 0
                                    ? feed_forward.hidden()
                                    : 4 * transformer.width();
    json["hidden_act"] = std::string(ActivationName(feed_forward.activation()));
    json["layer_norm_eps"] = transformer.norm().epsilon();
    return json;
  };
  const TransformerConfig& encoder = config.vision_transformer().transformer();
  nlohmann::ordered_json vision = common(encoder);
  vision["model_type"] = "blip_vision_model";
  vision["image_size"] = description.images.height();
  vision["patch_size"] = config.vision_transformer().patch();
  vision["attention_dropout"] = encoder.attention().attention().dropout();
  const TransformerConfig& decoder = config.decoder();
  nlohmann::ordered_json text = common(decoder);
  text["model_type"] = "blip_text_model";
  text["encoder_hidden_size"] = encoder.width();
  text["vocab_size"] = description.ids.count;
  text["max_position_embeddings"] = decoder.position_embedding().longest();
  text["hidden_dropout_prob"] = decoder.dropout();
  text["attention_probs_dropout_prob"] =
      decoder.attention().attention().dropout();
  text["chunk_size_feed_forward"] = decoder.feed_forward().chunk();
  text["bos_token_id"] = description.ids.special.begin;
  text["sep_token_id"] = description.ids.special.end;
  text["pad_token_id"] = description.ids.special.pad;
  text["is_decoder"] = true;
  nlohmann::ordered_json json;
  json["architectures"] = {kArchitecture};
  json["model_type"] = "blip";
  json["text_config"] = std::move(text);
  json["vision_config"] = std::move(vision);
  return json.dump(2) + "\n";
}

WeightTable BlipWeights(const BlipDescription& description) {
  const VisionTransformerConfig& vision =
      description.config.vision_transformer();
  const int64_t width = vision.transformer().width();
  const int64_t patch = vision.patch();
  const int64_t side = description.images.height() / patch;
  const std::string embeddings = "vision_model.embeddings.";
  const std::string text = "text_decoder.bert.embeddings.";
  const std::string predictions = "text_decoder.cls.predictions.";
  WeightTable table = {
      .names = {{.ours = "encoder.patch_embedding.weight",
                 .theirs = embeddings + "patch_embedding.weight",
                 .shape = {width, 3, patch, patch}},
                {"encoder.patch_embedding.bias",
                 embeddings + "patch_embedding.bias"},
                {.ours = "encoder.class_token",
                 .theirs = embeddings + "class_embedding",
                 .shape = {1, 1, width}},
                {.ours = "encoder.position_embedding.weight",
                 .theirs = embeddings + "position_embedding",
                 .shape = {1, 1 + side * side, width}},
                {"encoder.norm.*", "vision_model.post_layernorm.*"},
                {"decoder.embedding.weight", text + "word_embeddings.weight"},
                {"decoder.position_embedding.weight",
                 text + "position_embeddings.weight"},
                {"decoder.embedding_norm.*", text + "LayerNorm.*"},
                {"decoder.output.transform.*",
                 predictions + "transform.dense.*"},
                {"decoder.output.norm.*",
                 predictions + "transform.LayerNorm.*"},
                {"decoder.output.weight", predictions + "decoder.weight"},
                {"decoder.output.bias", predictions + "bias"},
                {"decoder.output.bias", predictions + "decoder.bias"}},
      // Files of transformers before 4.31 contain these buffers.
      .ignored = {"text_decoder.bert.embeddings.position_ids",
                  "vision_model.embeddings.position_ids"}};
  const auto add = [&](absl::string_view ours, absl::string_view theirs) {
    table.names.push_back(
        {absl::StrCat("encoder.layers.*.", ours),
         absl::StrCat("vision_model.encoder.layers.*.", theirs)});
    return &table.names.back();
  };
  add("attention_norm.*", "layer_norm1.*");
  int part = 0;
  for (const char* name : {"query", "key", "value"}) {
    WeightMapping* const fused =
        add(absl::StrCat("attention.", name, ".*"), "self_attn.qkv.*");
    fused->part = part++;
    fused->parts = 3;
  }
  add("attention.output.*", "self_attn.projection.*");
  add("feed_forward_norm.*", "layer_norm2.*");
  add("feed_forward.input.*", "mlp.fc1.*");
  add("feed_forward.output.*", "mlp.fc2.*");
  constexpr std::pair<const char*, const char*> kOfDecoder[] = {
      {"attention.query.*", "attention.self.query.*"},
      {"attention.key.*", "attention.self.key.*"},
      {"attention.value.*", "attention.self.value.*"},
      {"attention.output.*", "attention.output.dense.*"},
      {"attention_norm.*", "attention.output.LayerNorm.*"},
      {"cross_attention.query.*", "crossattention.self.query.*"},
      {"cross_attention.key.*", "crossattention.self.key.*"},
      {"cross_attention.value.*", "crossattention.self.value.*"},
      {"cross_attention.output.*", "crossattention.output.dense.*"},
      {"cross_attention_norm.*", "crossattention.output.LayerNorm.*"},
      {"feed_forward.input.*", "intermediate.dense.*"},
      {"feed_forward.output.*", "output.dense.*"},
      {"feed_forward_norm.*", "output.LayerNorm.*"}};
  for (const auto& [ours, theirs] : kOfDecoder) {
    table.names.push_back(
        {absl::StrCat("decoder.layers.*.", ours),
         absl::StrCat("text_decoder.bert.encoder.layer.*.", theirs)});
  }
  return table;
}

}  // namespace regard
