#include "experiments/pretrained/bert_json.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "language/bert.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

using Json = nlohmann::json;

// An object of a file, and what is wrong with it.
// Whether brackets stand in each other deeper than any model needs; what reads
// and prints JSON calls itself for each.
bool IsTooDeep(absl::string_view text) {
  constexpr int kMostDepth = 100;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMostDepth) return true;
  }
  return false;
}

class Object {
 public:
  static absl::StatusOr<Object> Parse(absl::string_view text,
                                      absl::string_view path) {
    if (IsTooDeep(text)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": error: more than 100 brackets in each other"));
    }
    Json json = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                            /*allow_exceptions=*/false);
    if (!json.is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": error: not a JSON object"));
    }
    return Object(std::move(json), path);
  }

  const Json& json() const { return json_; }

  void Complain(absl::string_view problem) {
    problems_.push_back(absl::StrCat(path_, ": error: ", problem));
  }
  absl::Status status() const {
    if (problems_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
  }

  // Null if the key is absent, or its value null.
  const Json* Find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<bool> Bool(const char* key) {
    const Json* const value = Find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_boolean()) return value->get<bool>();
    Complain(absl::StrCat(key, " is neither true nor false"));
    return std::nullopt;
  }

  // The default, or 1 if the value is not a number from `min` to `max`.
  int64_t Integer(const char* key, std::optional<int64_t> otherwise,
                  int64_t min, int64_t max) {
    const Json* const value = Find(key);
    if (value == nullptr) {
      if (!otherwise.has_value()) Complain(absl::StrCat(key, " is missing"));
      return otherwise.value_or(1);
    }
    // Integers beyond int64 compare as doubles.
    const double number =
        value->is_number_integer() ? value->get<double>() : -1;
    if (number >= static_cast<double>(min) &&
        number <= static_cast<double>(max)) {
      return value->get<int64_t>();
    }
    Complain(absl::StrCat(key, " must be an integer from ", min, " to ", max,
                          ", but is ", Shown(*value)));
    return 1;
  }

  double Real(const char* key, double otherwise, double min, double max) {
    const Json* const value = Find(key);
    if (value == nullptr) return otherwise;
    if (value->is_number() && value->get<double>() >= min &&
        value->get<double>() <= max) {
      return value->get<double>();
    }
    Complain(absl::StrCat(key, " must be a number from ", min, " to ", max,
                          ", but is ", Shown(*value)));
    return otherwise;
  }

  // One of `choices`; the first if the key is absent or none fits.
  size_t Choice(const char* key, const std::vector<std::string>& choices) {
    const Json* const value = Find(key);
    if (value == nullptr) return 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (value->is_string() && value->get<std::string>() == choices[i]) {
        return i;
      }
    }
    Complain(absl::StrCat(key, " must be one of ", absl::StrJoin(choices, ", "),
                          ", but is ", Shown(*value)));
    return 0;
  }

  static std::string Shown(const Json& value) {
    std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true,
                                  Json::error_handler_t::replace);
    constexpr size_t kMost = 40;
    if (text.size() > kMost) text = text.substr(0, kMost) + "...";
    return text;
  }

 private:
  Object(Json json, absl::string_view path)
      : json_(std::move(json)), path_(path) {}

  Json json_;
  std::string path_;
  std::vector<std::string> problems_;
};

constexpr FeedForwardConfig::Activation kActivations[] = {
    FeedForwardConfig::GELU, FeedForwardConfig::RELU,
    FeedForwardConfig::GELU_TANH, FeedForwardConfig::GELU_TANH};
const std::vector<std::string>& ActivationNames() {
  static const auto* const names = new std::vector<std::string>{
      "gelu", "relu", "gelu_new", "gelu_pytorch_tanh"};
  return *names;
}

const std::vector<std::string>& PositionNames() {
  static const auto* const names = new std::vector<std::string>{
      "absolute", "relative_key", "relative_key_query"};
  return *names;
}

void SetPositions(size_t choice, int longest, TransformerConfig* config) {
  PositionEmbeddingConfig& positions = *config->mutable_position_embedding();
  if (choice == 0) {
    positions.set_kind(PositionEmbeddingConfig::LEARNED);
    positions.set_longest(longest);
    return;
  }
  positions.set_kind(PositionEmbeddingConfig::NONE);
  RelativeDotScore& score =
      *config->mutable_attention()->mutable_attention()->mutable_relative_dot();
  score.set_max_position(longest);
  score.set_terms(choice == 1 ? RelativeDotScore::RELATIVE_KEY
                              : RelativeDotScore::RELATIVE_KEY_QUERY);
}

// A special token may be a string, or an object with "content".
void ReadSpecialToken(const Object& object, const char* key,
                      std::string* token) {
  const Json* value = object.Find(key);
  if (value == nullptr) return;
  if (value->is_object() && value->contains("content")) {
    value = &(*value)["content"];
  }
  if (value->is_string()) *token = value->get<std::string>();
}

}  // namespace

absl::StatusOr<BertDescription> ParseBertConfig(absl::string_view text,
                                                absl::string_view path) {
  constexpr int64_t kMostSize = 65536;
  REGARD_ASSIGN_OR_RETURN(Object json, Object::Parse(text, path));
  BertDescription description;
  BertConfig& config = description.config;
  TransformerConfig& transformer = *config.mutable_transformer();
  const auto size = [&](const char* key, std::optional<int64_t> otherwise,
                        int64_t most) {
    return static_cast<int>(json.Integer(key, otherwise, 1, most));
  };
  json.Choice("model_type", {"bert"});
  description.vocabulary = size("vocab_size", std::nullopt, 1 << 24);
  transformer.set_width(size("hidden_size", std::nullopt, kMostSize));
  transformer.set_layers(size("num_hidden_layers", std::nullopt, 256));
  const int heads = size("num_attention_heads", std::nullopt, kMostSize);
  transformer.mutable_attention()->set_heads(heads);
  if (transformer.width() % heads != 0 && json.status().ok()) {
    json.Complain(absl::StrCat("num_attention_heads ", heads,
                               " must divide hidden_size ",
                               transformer.width()));
  }
  FeedForwardConfig& feed_forward = *transformer.mutable_feed_forward();
  feed_forward.set_hidden(size("intermediate_size", std::nullopt, 1 << 20));
  feed_forward.set_activation(
      kActivations[json.Choice("hidden_act", ActivationNames())]);
  feed_forward.set_chunk(
      static_cast<int>(json.Integer("chunk_size_feed_forward", 0, 0, 1 << 20)));
  const auto rate = [&](const char* key) {
    return json.Real(key, 0.1, 0, 0.999);
  };
  transformer.set_dropout(rate("hidden_dropout_prob"));
  transformer.mutable_attention()->mutable_attention()->set_dropout(
      rate("attention_probs_dropout_prob"));
  transformer.mutable_norm()->set_epsilon(
      json.Real("layer_norm_eps", 1e-12, 1e-30, 1));
  transformer.mutable_initialization()->set_standard_deviation(
      json.Real("initializer_range", 0.02, 0, 100));
  SetPositions(json.Choice("position_embedding_type", PositionNames()),
               size("max_position_embeddings", 512, 1 << 20), &transformer);
  config.set_types(size("type_vocab_size", 2, 1024));
  for (const char* key : {"is_decoder", "add_cross_attention"}) {
    if (json.Bool(key).value_or(false)) {
      json.Complain(absl::StrCat(key, " is true: only encoders are read"));
    }
  }
  REGARD_RETURN_IF_ERROR(json.status());
  return description;
}

std::string BertConfigText(const BertDescription& description) {
  const BertConfig& config = description.config;
  const TransformerConfig transformer = BertTransformer(config);
  const Attention& attention = transformer.attention().attention();
  const FeedForwardConfig& feed_forward = transformer.feed_forward();
  const auto* const activation =
      std::find(std::begin(kActivations), std::end(kActivations),
                feed_forward.activation());
  const bool relative = attention.has_relative_dot();
  nlohmann::ordered_json json;
  json["architectures"] = {"BertModel"};
  json["model_type"] = "bert";
  json["vocab_size"] = description.vocabulary;
  json["hidden_size"] = transformer.width();
  json["num_hidden_layers"] = transformer.layers();
  json["num_attention_heads"] = transformer.attention().heads();
  json["intermediate_size"] = feed_forward.hidden() > 0
                                  ? feed_forward.hidden()
                                  : 4 * transformer.width();
  json["hidden_act"] = ActivationNames()[static_cast<size_t>(
      activation - std::begin(kActivations))];
  json["hidden_dropout_prob"] = transformer.dropout();
  json["attention_probs_dropout_prob"] = attention.dropout();
  json["max_position_embeddings"] =
      relative ? attention.relative_dot().max_position()
               : transformer.position_embedding().longest();
  json["position_embedding_type"] = PositionNames()[static_cast<size_t>(
      relative ? attention.relative_dot().terms() : 0)];
  json["type_vocab_size"] = config.types();
  json["layer_norm_eps"] = transformer.norm().epsilon();
  json["initializer_range"] = transformer.initialization().standard_deviation();
  json["pad_token_id"] = 0;
  return json.dump(2) + "\n";
}

absl::Status ReadTokenizerJson(absl::string_view text, absl::string_view path,
                               TokenizerDescription* description) {
  REGARD_ASSIGN_OR_RETURN(const Object json, Object::Parse(text, path));
  if (const Json* const value = json.Find("normalizer");
      value != nullptr && value->is_object()) {
    REGARD_ASSIGN_OR_RETURN(Object normalizer,
                            Object::Parse(value->dump(), path));
    normalizer.Choice("type", {"BertNormalizer"});
    WordPieceOptions& options = description->options;
    options.clean_text =
        normalizer.Bool("clean_text").value_or(options.clean_text);
    options.split_chinese =
        normalizer.Bool("handle_chinese_chars").value_or(options.split_chinese);
    options.lower_case =
        normalizer.Bool("lowercase").value_or(options.lower_case);
    options.strip_accents = normalizer.Bool("strip_accents");
    REGARD_RETURN_IF_ERROR(normalizer.status());
  }
  const Json* const model = json.Find("model");
  if (model == nullptr || !model->is_object()) return absl::OkStatus();
  REGARD_ASSIGN_OR_RETURN(Object wordpiece, Object::Parse(model->dump(), path));
  wordpiece.Choice("type", {"WordPiece"});
  WordPieceOptions& options = description->options;
  options.longest_word =
      wordpiece.Integer("max_input_chars_per_word", options.longest_word, 1,
                        std::numeric_limits<int32_t>::max());
  wordpiece.Choice("continuing_subword_prefix", {"##"});
  const Json* const vocabulary = wordpiece.Find("vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    return wordpiece.status();
  }
  std::vector<std::string>& tokens = description->tokens;
  tokens.assign(vocabulary->size(), "");
  for (const auto& [token, id] : vocabulary->items()) {
    const auto index =
        id.is_number_unsigned() ? id.get<uint64_t>() : tokens.size();
    if (index < tokens.size() && tokens[index].empty()) {
      tokens[index] = token;
    } else {
      wordpiece.Complain(absl::StrCat("the id of '", token, "' is ",
                                      Object::Shown(id), " of ", tokens.size(),
                                      ", or there twice"));
      break;
    }
  }
  return wordpiece.status();
}

absl::Status ReadTokenizerConfig(absl::string_view text, absl::string_view path,
                                 TokenizerDescription* description) {
  REGARD_ASSIGN_OR_RETURN(Object json, Object::Parse(text, path));
  WordPieceOptions& options = description->options;
  options.lower_case = json.Bool("do_lower_case").value_or(options.lower_case);
  options.split_chinese =
      json.Bool("tokenize_chinese_chars").value_or(options.split_chinese);
  if (const auto strip = json.Bool("strip_accents")) {
    options.strip_accents = strip;
  }
  ReadSpecialToken(json, "unk_token", &options.unknown);
  ReadSpecialToken(json, "cls_token", &options.classifier);
  ReadSpecialToken(json, "sep_token", &options.separator);
  ReadSpecialToken(json, "pad_token", &options.padding);
  ReadSpecialToken(json, "mask_token", &options.mask);
  // "No limit" is written as 1e30.
  const double longest = json.Real("model_max_length", 0, 0, 1e31);
  if (longest >= 1 && longest <= 1e9) {
    description->longest = static_cast<int64_t>(longest);
  }
  return json.status();
}

std::string TokenizerConfigText(const WordPieceOptions& options,
                                int64_t longest) {
  nlohmann::ordered_json json;
  json["tokenizer_class"] = "BertTokenizer";
  json["do_lower_case"] = options.lower_case;
  if (options.strip_accents.has_value()) {
    json["strip_accents"] = *options.strip_accents;
  } else {
    json["strip_accents"] = nullptr;
  }
  json["tokenize_chinese_chars"] = options.split_chinese;
  json["unk_token"] = options.unknown;
  json["cls_token"] = options.classifier;
  json["sep_token"] = options.separator;
  json["pad_token"] = options.padding;
  json["mask_token"] = options.mask;
  json["model_max_length"] = longest;
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

absl::StatusOr<int64_t> ParseLongestSentence(absl::string_view text,
                                             absl::string_view path) {
  REGARD_ASSIGN_OR_RETURN(Object json, Object::Parse(text, path));
  const int64_t longest = json.Integer("max_seq_length", 0, 2, 1 << 24);
  REGARD_RETURN_IF_ERROR(json.status());
  return longest;
}

absl::Status CheckPooling(absl::string_view text, absl::string_view path) {
  REGARD_ASSIGN_OR_RETURN(Object json, Object::Parse(text, path));
  if (!json.Bool("pooling_mode_mean_tokens").value_or(true)) {
    json.Complain(
        "pooling_mode_mean_tokens is false: only the mean of the tokens is "
        "computed");
  }
  return json.status();
}

}  // namespace regard
