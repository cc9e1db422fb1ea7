#include "experiments/tasks/text_classification/pretrained_run.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "data/text/token_vocabulary.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "files/sha256.h"
#include "google/protobuf/util/message_differencer.h"
#include "language/bert.h"
#include "nn/weights.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// What must not differ, with the published defaults filled in.
BertConfig Essence(const BertConfig& config) {
  BertConfig essence = config;
  essence.clear_pooler();
  essence.clear_masked_words();
  TransformerConfig& transformer = *essence.mutable_transformer();
  transformer = BertTransformer(config);
  transformer.clear_dropout();
  transformer.clear_embedding_dropout();
  transformer.clear_drop_path();
  transformer.clear_recompute();
  transformer.clear_initialization();
  transformer.mutable_attention()->mutable_attention()->clear_dropout();
  transformer.mutable_feed_forward()->clear_dropout();
  MaskedWordsConfig& tokens = *essence.mutable_masked_words();
  tokens.set_lower_case(config.masked_words().lower_case());
  return essence;
}

}  // namespace

absl::StatusOr<PretrainedRun> OpenPretrainedRun(absl::string_view run) {
  REGARD_ASSIGN_OR_RETURN(TrainedRun opened, OpenTrainedRun(run));
  PretrainedRun found;
  static_cast<TrainedRun&>(found) = std::move(opened);
  if (!found.config.model().has_bert()) {
    return absl::InvalidArgumentError(
        absl::StrCat(found.path, " is no run of model.bert"));
  }
  found.vocabulary = JoinPath(found.path, kVocabularyFile);
  REGARD_RETURN_IF_ERROR(found.ReadText(kVocabularyFile).status());
  REGARD_ASSIGN_OR_RETURN(const FileReader weights,
                          FileReader::Open(found.weights));
  REGARD_ASSIGN_OR_RETURN(found.digest, Sha256OfFile(weights));
  return found;
}

std::string DifferenceFrom(const PretrainedRun& run, const BertConfig& config) {
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_message_field_comparison(
      google::protobuf::util::MessageDifferencer::EQUIVALENT);
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(Essence(run.bert()), Essence(config))) return "";
  return absl::StrReplaceAll(differences, {{"\n", "; "}});
}

absl::Status LoadPretrained(const PretrainedRun& run,
                            ParameterStore<float>& parameters) {
  REGARD_RETURN_IF_ERROR(parameters.status());
  REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                          SafetensorsReader::Open(run.weights));
  std::vector<std::string> problems;
  for (const ParameterInfo& info : parameters.parameters()) {
    if (absl::StartsWith(info.name, "classifier.")) continue;
    if (absl::StartsWith(info.name, "pooler.") &&
        reader.header().tensors.count(info.name) == 0) {
      continue;
    }
    const absl::Status status =
        reader.Read(info.name, Extents(info.shape),
                    parameters.value(*parameters.FindByName(info.name)));
    if (!status.ok()) problems.emplace_back(status.message());
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n  "));
}

}  // namespace regard
