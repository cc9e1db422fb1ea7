#include "pretrained/same_transformer.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/state_mixer.h"
#include "attention/transformer/validation.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/message_differencer.h"

namespace regard {

namespace {

// Removes fields that do not affect outputs, and sets defaults explicitly, so
// that equivalent configs become equal.
TransformerConfig Plain(TransformerConfig config) {
  config.clear_initialization();
  config.clear_recompute();
  config.clear_cross_attention();
  if (!HasStateMixer(config.mixer())) config.clear_mixer();
  FeedForwardConfig& feed_forward = *config.mutable_feed_forward();
  feed_forward.clear_chunk();
  if (feed_forward.hidden() == 0) feed_forward.set_hidden(4 * config.width());
  MultiHead& heads = *config.mutable_attention();
  if (heads.key_heads() == heads.heads()) heads.clear_key_heads();
  if (!heads.has_output_bias()) heads.set_output_bias(heads.bias());
  Attention& attention = *heads.mutable_attention();
  attention.clear_block();
  if (attention.score_case() == Attention::SCORE_NOT_SET) {
    attention.mutable_scaled_dot();
  }
  if (!config.has_embedding_dropout()) {
    config.set_embedding_dropout(config.dropout());
  }
  if (!config.has_final_norm()) {
    config.set_final_norm(config.norm_order() == TransformerConfig::PRE);
  }
  if (config.tied_embeddings() != TransformerConfig::SEPARATE &&
      !config.output_transform()) {
    config.set_output_bias(false);
  }
  return config;
}

// Adds the paths of all singular message fields that are set, such as the
// score, even if the message is empty.
void AddGiven(const google::protobuf::Message& message,
              const std::string& prefix, std::set<std::string>* paths) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() !=
            google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE ||
        field->is_repeated()) {
      continue;
    }
    const std::string path = absl::StrCat(prefix, field->name());
    paths->insert(path);
    AddGiven(reflection.GetMessage(message, field), absl::StrCat(path, "."),
             paths);
  }
}

}  // namespace

absl::Status CheckSameTransformer(const TransformerConfig& read,
                                  const TransformerConfig& config,
                                  absl::string_view kind) {
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(
      google::protobuf::util::MessageDifferencer::EQUIVALENT);
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  const TransformerConfig theirs = Plain(read);
  const TransformerConfig ours = Plain(config);
  bool same = differencer.Compare(theirs, ours);
  // The differencer does not distinguish empty messages from absent messages.
  std::set<std::string> known;
  std::set<std::string> given;
  AddGiven(theirs, "", &known);
  AddGiven(ours, "", &given);
  for (const std::string& path : given) {
    if (known.contains(path)) continue;
    same = false;
    absl::StrAppend(&differences, "added: ", path, "\n");
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "error: the `transformer` of the model does not fit ", kind,
      " in transformers; it requires these changes:\n", differences));
}

TransformerConfig WithoutDropoutRates(TransformerConfig config) {
  ClearDropPath(&config);
  config.clear_embedding_dropout();
  config.mutable_feed_forward()->clear_dropout();
  return config;
}

}  // namespace regard
