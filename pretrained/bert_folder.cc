#include "pretrained/bert_folder.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "language/bert.h"
#include "language/masked_word_model.h"
#include "language/text_classifier.h"
#include "language/text_embedder.h"
#include "nn/layers/linear.h"
#include "options/config_problems.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/same_transformer.h"
#include "pretrained/vocabulary_size.h"
#include "seq2seq/output_head.h"
#include "seq2seq/transformer_head.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kConfig[] = "config.json";
constexpr char kVocabulary[] = "vocab.txt";

void Collect(const absl::Status& status, std::vector<std::string>* messages) {
  if (!status.ok()) messages->emplace_back(status.message());
}

// Returns the lower of two limits. A limit of 0 means no limit.
int64_t Least(int64_t a, int64_t b) {
  return a == 0 ? b : b == 0 ? a : std::min(a, b);
}

absl::Status CheckModel(const AttentionRegistry& scorers, BertFolder* model) {
  BertDescription* const description = &model->description;
  const BertHead head = description->head;
  REGARD_ASSIGN_OR_RETURN(
      const PretrainedWeights weights,
      PretrainedWeights::Open(model->path, BertWeights(*description, head)));
  // A head for classes or next sentences requires a pooler. Without such a
  // head, the model has a pooler if the weights contain any of its tensors.
  // Missing tensors are then errors.
  description->config.set_pooler(
      HasClasses(head) || head == BertHead::kWordsAndFollows ||
      weights.Has("pooler.dense.weight") || weights.Has("pooler.dense.bias"));
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
  const auto linear = [&](const char* name, int64_t outputs) {
    LinearLayer<float>(parameters.Root().Sub(name), bert.width(), outputs);
  };
  if (HasClasses(head)) {
    linear("classifier", std::ssize(description->classes));
  }
  if (PredictsWords(head)) {
    TransformerHead<float>(BertTransformer(description->config),
                           bert.embedding(), kNoSpecialIds,
                           parameters.Root().Sub("masked_words"));
  }
  if (head == BertHead::kWordsAndFollows) linear("next_sentence", 2);
  model->longest = Least(model->longest, bert.longest_position());
  return weights.Check(parameters);
}

}  // namespace

absl::Status BertFolder::LoadWeights(BertHead head,
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
  std::vector<std::string> messages;
  // The config.json of sentence-transformers still names the architecture that
  // the encoder was taken from. The heads of this architecture for words and
  // next sentences are ignored.
  const bool words = !PathExists(JoinPath(folder, "modules.json"));
  absl::StatusOr<BertDescription> described =
      ReadBertConfig(JoinPath(folder, kConfig), words);
  Collect(described.status(), &messages);
  if (described.ok()) model.description = *described;
  absl::StatusOr<WordPieceTokenizer> tokenizer = ReadWordPieceFiles(folder);
  Collect(tokenizer.status(), &messages);
  if (tokenizer.ok()) {
    static_cast<WordPieceTokenizer&>(model) = *std::move(tokenizer);
  }
  const absl::StatusOr<SentenceTransformersSettings> sentence =
      ReadSentenceFiles(folder, model.options.lower_case);
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
  model.longest = Least(model.longest, sentence->longest);
  model.vectors = sentence->vectors;
  model.notes = sentence->notes;
  if (model.longest < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": error: texts are cut to ", model.longest,
                     " tokens; at least 2 are required, for [CLS] and [SEP]"));
  }
  return model;
}

namespace {

// Returns the contents of config.json for a model, or an error that lists
// unsupported features.
absl::StatusOr<BertDescription> DescriptionOf(const BertBasedModel& model) {
  const WordPiece& pieces = model.pieces();
  BertDescription description = {
      .config = model.bert_config(),
      .vocabulary = pieces.size(),
      .padding = pieces.Find(pieces.options().padding)};
  if (const auto* classifier = dynamic_cast<const TextClassifier*>(&model)) {
    if (classifier->config().pooling() != TextClassifierConfig::POOLER) {
      return absl::InvalidArgumentError(
          "error: pooling must be POOLER: in transformers, BERT predicts "
          "classes from its pooler");
    }
    description.head = BertHead::kClasses;
    description.classes = classifier->data().labels;
    description.classifier_dropout = classifier->config().dropout();
  } else if (dynamic_cast<const MaskedWordModel*>(&model) != nullptr) {
    description.head = model.bert_config().masked_words().next_sentence()
                           ? BertHead::kWordsAndFollows
                           : BertHead::kWords;
  }
  REGARD_ASSIGN_OR_RETURN(
      const BertDescription read,
      ParseBertConfig(BertConfigText(description), kConfig));
  const TransformerConfig theirs = BertTransformer(read.config);
  TransformerConfig ours = BertTransformer(description.config);
  if (ours.attention().attention().has_relative_dot()) {
    return absl::InvalidArgumentError(
        "error: relative_dot is not supported: in transformers 5, BERT has no "
        "relative positions");
  }
  if (!PredictsWords(description.head)) {
    // These fields affect only the head for masked words.
    ours.set_tied_embeddings(theirs.tied_embeddings());
    ours.set_output_transform(theirs.output_transform());
    ours.set_output_bias(theirs.output_bias());
  }
  REGARD_RETURN_IF_ERROR(CheckSameTransformer(theirs, ours, "BERT"));
  return description;
}

}  // namespace

absl::Status WriteBertFolder(const BertBasedModel& model,
                             const std::string& folder, FileOperations& files) {
  REGARD_ASSIGN_OR_RETURN(const BertDescription description,
                          DescriptionOf(model));
  WordPieceTokenizer tokenizer = {
      .options = model.pieces().options(),
      .pieces = std::make_unique<const WordPiece>(model.pieces()),
      .longest = model.longest()};
  REGARD_RETURN_IF_ERROR(CheckWordPieceFiles(tokenizer));
  REGARD_RETURN_IF_ERROR(MakeDirectories(folder, files));
  REGARD_RETURN_IF_ERROR(WriteWordPieceFiles(tokenizer, folder, files));
  if (dynamic_cast<const SentenceEmbeddingModel*>(&model) != nullptr) {
    REGARD_RETURN_IF_ERROR(
        WriteSentenceFiles({model.longest(), model.vectors()},
                           model.bert().width(), folder, files));
  }
  REGARD_RETURN_IF_ERROR(
      WritePretrainedWeights(BertWeights(description, description.head),
                             model.parameters(), folder, files));
  return WriteFileAtomically(JoinPath(folder, kConfig),
                             BertConfigText(description), files);
}

}  // namespace regard
