// BERT in Hugging Face's folders, alone or with a head that classifies:
// config.json, model.safetensors, vocab.txt and the files of the tokeniser. See
// docs/hugging_face.md.
#ifndef PRETRAINED_BERT_FOLDER_H_
#define PRETRAINED_BERT_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "files/file.h"
#include "language/bert.h"
#include "language/text_classifier.h"
#include "nn/parameters.h"
#include "pretrained/bert_format.h"
#include "pretrained/wordpiece_files.h"

namespace regard {

// What a folder says of a model; its weights stay there.
// `longest` is the least of what the model, the tokeniser and
// sentence_bert_config.json say.
struct BertFolder : WordPieceFiles {
  std::string path;
  BertDescription description;

  // Fills the finalized parameters of a Bert or, with `head`, of a
  // TextClassifier of description.classes. Its vocabulary is
  // description.vocabulary or the size of `pieces`: rows that no token has are
  // left out. `kept` is as of PretrainedWeights::Load().
  absl::Status LoadWeights(bool head, ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
};

// `path` is as the user gave it. Errors are complete to print, and name all
// that is wrong with a file: missing tensors, further ones, and those of
// another shape or type. Numbers that are not finite are found when they are
// loaded.
absl::StatusOr<BertFolder> OpenBertFolder(absl::string_view path,
                                          const AttentionRegistry& scorers);

struct PretrainedBert : BertFolder {
  std::unique_ptr<ParameterStore<float>> parameters;
  std::unique_ptr<const Bert<float>> bert;
};

// The same with the weights.
absl::StatusOr<PretrainedBert> ReadBertFolder(absl::string_view path,
                                              const AttentionRegistry& scorers);

// Makes the folder if it is not there. transformers opens it, as a
// BertForSequenceClassification. An InvalidArgument, complete to print, names
// what that does not have.
absl::Status WriteBertClassifier(const TextClassifier& model,
                                 const std::string& folder,
                                 FileOperations& files);

// Makes the folder if it is not there. transformers opens it.
absl::Status WriteBertFolder(const PretrainedBert& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_BERT_FOLDER_H_
