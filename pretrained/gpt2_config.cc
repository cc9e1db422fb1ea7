#include "pretrained/gpt2_config.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "files/json_file.h"
#include "language/language_model.pb.h"
#include "nlohmann/json.hpp"
#include "pretrained/activation_names.h"
#include "pretrained/same_transformer.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

void ReadSizes(const JsonObject& json, TransformerConfig& transformer) {
  constexpr int64_t kMaxSize = 65536;
  const auto size = [&](const char* key, int64_t most) {
    return static_cast<int>(json.Integer(key, std::nullopt, 1, most));
  };
  transformer.set_width(size("n_embd", kMaxSize));
  transformer.set_layers(size("n_layer", 256));
  const int heads = size("n_head", kMaxSize);
  transformer.mutable_attention()->set_heads(heads);
  if (transformer.width() % heads != 0) {
    json.AddProblem("n_head",
                    absl::StrCat("n_head ", heads, " must divide n_embd ",
                                 transformer.width()));
  }
  PositionEmbeddingConfig& positions =
      *transformer.mutable_position_embedding();
  positions.set_kind(PositionEmbeddingConfig::LEARNED);
  positions.set_longest(size("n_positions", 1 << 20));
  FeedForwardConfig& feed_forward = *transformer.mutable_feed_forward();
  feed_forward.set_hidden(static_cast<int>(
      json.Integer("n_inner", int64_t{4} * transformer.width(), 1, 1 << 20)));
  feed_forward.set_activation(ReadActivation(json, "activation_function",
                                             FeedForwardConfig::GELU_TANH));
}

void ReadNumbers(const JsonObject& json, TransformerConfig& transformer) {
  const auto rate = [&](const char* key) {
    return json.Real(key, 0.1, 0, 0.999);
  };
  Attention& attention = *transformer.mutable_attention()->mutable_attention();
  attention.mutable_scaled_dot();
  attention.set_dropout(rate("attn_pdrop"));
  transformer.set_dropout(rate("resid_pdrop"));
  transformer.set_embedding_dropout(rate("embd_pdrop"));
  transformer.mutable_norm()->set_epsilon(
      json.Real("layer_norm_epsilon", 1e-5, 1e-30, 1));
  TransformerInitialization& initialization =
      *transformer.mutable_initialization();
  initialization.set_weights(NORMAL);
  initialization.set_standard_deviation(
      json.Real("initializer_range", 0.02, 0, 100));
  initialization.set_scale_residual(true);
  initialization.set_zero_bias(true);
}

void RefuseWhatIsNotComputed(const JsonObject& json) {
  for (const char* key : {"scale_attn_by_inverse_layer_idx",
                          "reorder_and_upcast_attn", "add_cross_attention"}) {
    if (json.Bool(key, false)) {
      json.AddProblem(
          key, absl::StrCat(key, " must be false: true is not supported"));
    }
  }
  constexpr char kScale[] = "scale_attn_weights";
  if (!json.Bool(kScale, true)) {
    json.AddProblem(
        kScale,
        absl::StrCat(kScale, " must be true: scores are always scaled"));
  }
}

}  // namespace

absl::StatusOr<Gpt2Description> ReadGpt2Config(absl::string_view text,
                                               const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, path));
  const JsonObject json = file.root();
  Gpt2Description description;
  TransformerConfig& transformer = description.transformer;
  json.Choice("model_type", {"gpt2"});
  description.vocabulary = json.Integer("vocab_size", std::nullopt, 1, 1 << 24);
  ReadSizes(json, transformer);
  ReadNumbers(json, transformer);
  RefuseWhatIsNotComputed(json);
  transformer.set_norm_order(TransformerConfig::PRE);
  transformer.set_scale_embedding(false);
  const bool tied = json.Bool("tie_word_embeddings", true);
  transformer.set_tied_embeddings(tied ? TransformerConfig::TARGET_OUTPUT
                                       : TransformerConfig::SEPARATE);
  transformer.set_output_bias(false);
  for (const auto& [key, id] : {std::pair("bos_token_id", &description.begin),
                                std::pair("eos_token_id", &description.end)}) {
    if (!json.Has(key)) continue;
    const int64_t value = json.Integer(key);
    if (value < description.vocabulary) *id = value;
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return description;
}

namespace {

// Checks that the text of a config.json describes the config completely.
absl::Status CheckIsGpt2(const std::string& text,
                         const TransformerConfig& config) {
  REGARD_ASSIGN_OR_RETURN(const Gpt2Description read,
                          ReadGpt2Config(text, "config.json"));
  return CheckSameTransformer(read.transformer, config, "GPT-2");
}

}  // namespace

absl::StatusOr<std::string> Gpt2ConfigText(const LanguageModelConfig& config,
                                           const BytePairs& pairs) {
  const TransformerConfig& transformer = config.transformer();
  const TransformerInitialization& initialization =
      transformer.initialization();
  nlohmann::ordered_json json;
  json["architectures"] = {"GPT2LMHeadModel"};
  json["model_type"] = "gpt2";
  json["vocab_size"] = pairs.size();
  json["n_positions"] = transformer.position_embedding().longest();
  json["n_embd"] = transformer.width();
  json["n_layer"] = transformer.layers();
  json["n_head"] = transformer.attention().heads();
  json["n_inner"] = nullptr;
  if (transformer.feed_forward().hidden() > 0) {
    json["n_inner"] = transformer.feed_forward().hidden();
  }
  json["activation_function"] =
      std::string(ActivationName(transformer.feed_forward().activation()));
  json["resid_pdrop"] = transformer.dropout();
  json["embd_pdrop"] = transformer.has_embedding_dropout()
                           ? transformer.embedding_dropout()
                           : transformer.dropout();
  json["attn_pdrop"] = transformer.attention().attention().dropout();
  json["layer_norm_epsilon"] = transformer.norm().epsilon();
  json["initializer_range"] = initialization.standard_deviation();
  json["tie_word_embeddings"] =
      transformer.tied_embeddings() == TransformerConfig::TARGET_OUTPUT;
  for (const auto& [key, token] :
       {std::pair("bos_token_id", &config.tokens().begin()),
        std::pair("eos_token_id", &config.tokens().end())}) {
    const std::optional<int32_t> id = pairs.Find(*token);
    json[key] = nullptr;
    if (id.has_value()) json[key] = *id;
  }
  std::string text = json.dump(2) + "\n";
  REGARD_RETURN_IF_ERROR(CheckIsGpt2(text, transformer));
  return text;
}

}  // namespace regard
