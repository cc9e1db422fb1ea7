#include "pretrained/bert_format.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/json_file.h"
#include "language/bert.h"
#include "language/text_pairs.h"
#include "nlohmann/json.hpp"
#include "pretrained/activation_names.h"
#include "pretrained/class_names.h"
#include "pretrained/tied_embeddings.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Architectures, indexed by BertHead.
constexpr const char* kArchitectures[] = {
    "BertModel", "BertForNextSentencePrediction",
    "BertForSequenceClassification", "BertForMaskedLM", "BertForPreTraining"};
static_assert(std::size(kArchitectures) == kBertHeads);

constexpr absl::string_view kPositionNames[] = {"absolute", "relative_key",
                                                "relative_key_query"};

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

void ReadHead(const JsonObject& json, BertDescription* description) {
  if (!json.Has("architectures")) return;
  for (const std::string& name : json.TextList("architectures")) {
    const auto* const found = std::ranges::find(kArchitectures, name);
    if (found == std::end(kArchitectures)) continue;
    description->head = std::max(description->head,
                                 static_cast<BertHead>(found - kArchitectures));
  }
}

void ReadClassifier(const JsonObject& json, BertDescription* description) {
  description->classes = ReadClasses(
      json, "id2label",
      UnnamedClasses(json.Integer("num_labels", 2, 0, kMaxClasses)));
  if (description->classes.size() < 2) {
    json.AddProblem("id2label", "id2label must name at least two classes");
  }
  json.Choice("problem_type", {"single_label_classification"}, 0);
  description->classifier_dropout =
      json.Real("classifier_dropout",
                description->config.transformer().dropout(), 0, 0.999);
}

}  // namespace

bool HasClasses(BertHead head) {
  return head == BertHead::kClasses || head == BertHead::kFollows;
}

bool PredictsWords(BertHead head) {
  return head == BertHead::kWords || head == BertHead::kWordsAndFollows;
}

absl::StatusOr<BertDescription> ReadBertConfig(const std::string& path,
                                               bool words) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          EnsureErrorPrefix(ReadFile(path)));
  return ParseBertConfig(text, path, words);
}

absl::StatusOr<BertDescription> ParseBertConfig(absl::string_view text,
                                                absl::string_view path,
                                                bool words) {
  constexpr int64_t kMaxSize = 65536;
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Parse(text, path));
  const JsonObject json = file.root();
  BertDescription description;
  BertConfig& config = description.config;
  TransformerConfig& transformer = *config.mutable_transformer();
  const auto size = [&](const char* key, std::optional<int64_t> otherwise,
                        int64_t most) {
    return static_cast<int>(json.Integer(key, otherwise, 1, most));
  };
  json.Choice("model_type", {"bert"}, 0);
  description.vocabulary = size("vocab_size", std::nullopt, 1 << 24);
  transformer.set_width(size("hidden_size", std::nullopt, kMaxSize));
  transformer.set_layers(size("num_hidden_layers", std::nullopt, 256));
  const int heads = size("num_attention_heads", std::nullopt, kMaxSize);
  transformer.mutable_attention()->set_heads(heads);
  if (transformer.width() % heads != 0 && file.status().ok()) {
    json.AddProblem(
        "num_attention_heads",
        absl::StrCat("num_attention_heads ", heads, " must divide hidden_size ",
                     transformer.width()));
  }
  FeedForwardConfig& feed_forward = *transformer.mutable_feed_forward();
  feed_forward.set_hidden(size("intermediate_size", std::nullopt, 1 << 20));
  feed_forward.set_activation(
      ReadActivation(json, "hidden_act", FeedForwardConfig::GELU));
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
  SetPositions(json.Choice("position_embedding_type", kPositionNames, 0),
               size("max_position_embeddings", 512, 1 << 20), &transformer);
  config.set_types(size("type_vocab_size", 2, 1024));
  for (const char* key : {"is_decoder", "add_cross_attention"}) {
    if (json.Bool(key, false)) {
      json.AddProblem(
          key,
          absl::StrCat(key, " must be false: only encoders are supported"));
    }
  }
  ReadHead(json, &description);
  if (description.head == BertHead::kClasses) {
    ReadClassifier(json, &description);
  } else if (!words) {
    description.head = BertHead::kNone;
  }
  if (description.head == BertHead::kFollows) {
    description.classes = {std::begin(kPairClasses), std::end(kPairClasses)};
  }
  if ((description.head == BertHead::kFollows ||
       description.head == BertHead::kWordsAndFollows) &&
      config.types() < 2) {
    json.AddProblem("type_vocab_size",
                    "type_vocab_size must be 2 or more: a pair has two types");
  }
  if (PredictsWords(description.head)) RequireTiedEmbeddings(json);
  REGARD_RETURN_IF_ERROR(file.status());
  return description;
}

std::string BertConfigText(const BertDescription& description) {
  const BertConfig& config = description.config;
  const TransformerConfig transformer = BertTransformer(config);
  const FeedForwardConfig& feed_forward = transformer.feed_forward();
  nlohmann::ordered_json json;
  json["architectures"] = {
      kArchitectures[static_cast<size_t>(description.head)]};
  json["model_type"] = "bert";
  json["vocab_size"] = description.vocabulary;
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
  json["max_position_embeddings"] = transformer.position_embedding().longest();
  json["type_vocab_size"] = config.types();
  json["layer_norm_eps"] = transformer.norm().epsilon();
  json["initializer_range"] = transformer.initialization().standard_deviation();
  json["pad_token_id"] = nullptr;
  if (description.padding >= 0) json["pad_token_id"] = description.padding;
  if (description.head == BertHead::kClasses) {
    json["classifier_dropout"] = description.classifier_dropout;
    json["problem_type"] = "single_label_classification";
    WriteClasses(description.classes, &json);
  }
  return json.dump(2, ' ', /*ensure_ascii=*/false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

namespace {

// Adds the names of the output layer for masked words to `table`. The tensors
// have `vocabulary` rows. The parameters may have fewer rows.
void AddWords(int64_t vocabulary, WeightTable* table) {
  const std::string cls = "cls.predictions.";
  const WeightMapping lines[] = {
      {"masked_words.transform.*", cls + "transform.dense.*"},
      {"masked_words.norm.*", cls + "transform.LayerNorm.*"},
      {.ours = "masked_words.weight",
       .theirs = cls + "decoder.weight",
       .rows = vocabulary},
      {.ours = "masked_words.bias", .theirs = cls + "bias", .rows = vocabulary},
      {.ours = "masked_words.bias",
       .theirs = cls + "decoder.bias",
       .rows = vocabulary}};
  table->names.insert(table->names.end(), std::begin(lines), std::end(lines));
}

}  // namespace

WeightTable BertWeights(const BertDescription& description, BertHead head) {
  WeightTable table = {
      .names = {{.ours = "embedding.weight",
                 .theirs = "embeddings.word_embeddings.weight",
                 .rows = description.vocabulary},
                {"position_embedding.weight",
                 "embeddings.position_embeddings.weight"},
                {"type_embedding.weight",
                 "embeddings.token_type_embeddings.weight"},
                {"embedding_norm.*", "embeddings.LayerNorm.*"},
                {.ours = "pooler.*",
                 .theirs = "pooler.dense.*",
                 // A BertForMaskedLM has no pooler.
                 .written = head != BertHead::kWords}},
      .prefix = "bert.",
      .old_endings = {{".gamma", ".weight"}, {".beta", ".bias"}},
      // A buffer in older files, and the head for question answering.
      .ignored = {"embeddings.position_ids", "qa_outputs.**"}};
  constexpr std::pair<const char*, const char*> kOfLayer[] = {
      {"attention.query.*", "attention.self.query.*"},
      {"attention.key.*", "attention.self.key.*"},
      {"attention.value.*", "attention.self.value.*"},
      {"attention.score.distance_embedding",
       "attention.self.distance_embedding.weight"},
      {"attention.output.*", "attention.output.dense.*"},
      {"attention_norm.*", "attention.output.LayerNorm.*"},
      {"feed_forward.input.*", "intermediate.dense.*"},
      {"feed_forward.output.*", "output.dense.*"},
      {"feed_forward_norm.*", "output.LayerNorm.*"}};
  for (const auto& [ours, theirs] : kOfLayer) {
    table.names.push_back({absl::StrCat("layers.*.", ours),
                           absl::StrCat("encoder.layer.*.", theirs)});
  }
  const bool relative = BertTransformer(description.config)
                            .attention()
                            .attention()
                            .has_relative_dot();
  // With relative positions, files still contain the unused table of absolute
  // positions.
  if (relative) {
    table.ignored.push_back("embeddings.position_embeddings.weight");
  }
  if (head != BertHead::kNone) {
    // If the model has a head, transformers expects this prefix before the
    // names of the encoder's tensors.
    for (WeightMapping& line : table.names) {
      line.theirs = absl::StrCat(table.prefix, line.theirs);
    }
  }
  if (head == BertHead::kClasses) {
    table.names.push_back({"classifier.*", "classifier.*"});
  } else {
    table.ignored.push_back("classifier.**");
  }
  if (PredictsWords(head)) {
    AddWords(description.vocabulary, &table);
  } else {
    table.ignored.push_back("cls.predictions.**");
  }
  if (head == BertHead::kWordsAndFollows) {
    table.names.push_back({"next_sentence.*", "cls.seq_relationship.*"});
  } else if (head == BertHead::kFollows) {
    table.names.push_back({"classifier.*", "cls.seq_relationship.*"});
  } else {
    table.ignored.push_back("cls.seq_relationship.**");
  }
  return table;
}

}  // namespace regard
