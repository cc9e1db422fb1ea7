#include "pretrained/bert_folder.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nn/config_problems.h"
#include "nn/layers/linear.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/same_transformer.h"
#include "pretrained/vocabulary_size.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr size_t kMostProblems = 40;
constexpr char kConfig[] = "config.json";
constexpr char kVocabulary[] = "vocab.txt";

void Collect(const absl::Status& status, std::vector<std::string>* messages) {
  if (!status.ok()) messages->emplace_back(status.message());
}

// The least of those that are not 0.
int64_t Least(int64_t a, int64_t b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

absl::Status CheckModel(const AttentionRegistry& scorers, BertFolder* model) {
  BertDescription* const description = &model->description;
  const bool head = !description->classes.empty();
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(model->path, BertWeights(*description, head)));
  // Whole or in part; a classifier reads it.
  description->config.set_pooler(head || weights.Has("pooler.dense.weight") ||
                                 weights.Has("pooler.dense.bias"));
  ConfigProblems config_problems;
  ValidateBert(description->config, scorers, config_problems);
  if (!config_problems.ok()) {
    const ConfigProblems::Problem& first = config_problems.problems().front();
    return absl::InvalidArgumentError(
        absl::StrCat(JoinPath(model->path, kConfig), ": error: ", first.path,
                     " ", first.message));
  }
  ParameterStore<float> parameters;
  const Bert<float> bert(description->config, scorers, description->vocabulary,
                         parameters.Root());
  std::optional<LinearLayer<float>> classifier;
  if (head) {
    classifier.emplace(parameters.Root().Sub("classifier"), bert.width(),
                       std::ssize(description->classes));
  }
  model->longest = Least(model->longest, bert.longest_position());
  return weights.Check(parameters);
}

}  // namespace

absl::Status BertFolder::LoadWeights(bool head,
                                     ParameterStore<float>& parameters,
                                     std::vector<std::string>* kept) const {
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(path, BertWeights(description, head)));
  return weights.Load(parameters, kept);
}

absl::StatusOr<BertFolder> OpenBertFolder(absl::string_view path,
                                          const AttentionRegistry& scorers) {
  BertFolder model;
  model.path = ResolveUserPath(path);
  const std::string& folder = model.path;
  if (!IsDirectory(folder)) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: '", folder,
                     "' is no folder; one with config.json, "
                     "model.safetensors and vocab.txt is wanted"));
  }
  std::vector<std::string> messages;
  absl::StatusOr<BertDescription> described =
      ReadBertConfig(JoinPath(folder, kConfig));
  Collect(described.status(), &messages);
  if (described.ok()) model.description = *described;
  absl::StatusOr<WordPieceFiles> tokenizer = ReadWordPieceFiles(folder);
  Collect(tokenizer.status(), &messages);
  if (tokenizer.ok()) {
    static_cast<WordPieceFiles&>(model) = *std::move(tokenizer);
  }
  const absl::StatusOr<int64_t> sentence = ReadSentenceFiles(folder);
  Collect(sentence.status(), &messages);
  if (described.ok()) Collect(CheckModel(scorers, &model), &messages);
  if (described.ok() && model.pieces != nullptr) {
    Collect(
        CheckVocabularySize(JoinPath(folder, kVocabulary), model.pieces->size(),
                            model.description.vocabulary),
        &messages);
  }
  if (!messages.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(messages, "\n"));
  }
  model.longest = Least(model.longest, *sentence);
  if (model.longest < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": error: texts are cut to ", model.longest,
                     " ids; [CLS] and [SEP] alone are 2"));
  }
  return model;
}

absl::StatusOr<PretrainedBert> ReadBertFolder(
    absl::string_view path, const AttentionRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(BertFolder folder, OpenBertFolder(path, scorers));
  PretrainedBert model = {std::move(folder),
                          std::make_unique<ParameterStore<float>>(), nullptr};
  model.bert = std::make_unique<const Bert<float>>(
      model.description.config, scorers, model.description.vocabulary,
      model.parameters->Root());
  model.parameters->FinalizeWithZeros();
  REGARD_RETURN_IF_ERROR(model.LoadWeights(/*head=*/false, *model.parameters));
  return model;
}

namespace {

absl::Status Write(const BertDescription& description,
                   const WordPieceFiles& tokenizer,
                   const ParameterStore<float>& parameters,
                   const std::string& folder, FileOperations& files) {
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  REGARD_RETURN_IF_ERROR(WriteWordPieceFiles(tokenizer, folder, files));
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(
      JoinPath(folder, kConfig), BertConfigText(description), files));
  return WritePretrainedWeights(
      BertWeights(description, /*head=*/!description.classes.empty()),
      parameters, folder, files);
}

}  // namespace

absl::Status WriteBertFolder(const PretrainedBert& model,
                             const std::string& folder, FileOperations& files) {
  BertDescription description = model.description;
  description.classes.clear();
  return Write(description, model, *model.parameters, folder, files);
}

absl::Status WriteBertClassifier(const TextClassifier& model,
                                 const std::string& folder,
                                 FileOperations& files) {
  const TextClassifierConfig& config = model.config();
  if (config.pooling() != TextClassifierConfig::POOLER) {
    return absl::InvalidArgumentError(
        "error: a BERT of transformers reads classes from its pooler: pooling "
        "is not POOLER");
  }
  const BertDescription description = {.config = config.bert(),
                                       .vocabulary = model.pieces().size(),
                                       .classes = model.data().labels,
                                       .classifier_dropout = config.dropout()};
  REGARD_ASSIGN_OR_RETURN(
      const BertDescription read,
      ParseBertConfig(BertConfigText(description), kConfig));
  REGARD_RETURN_IF_ERROR(CheckSameTransformer(BertTransformer(read.config),
                                              BertTransformer(config.bert()),
                                              "BERT of transformers"));
  WordPieceFiles tokenizer;
  tokenizer.options = model.pieces().options();
  tokenizer.pieces = std::make_unique<const WordPiece>(model.pieces());
  tokenizer.longest = model.longest();
  return Write(description, tokenizer, model.parameters(), folder, files);
}

}  // namespace regard
