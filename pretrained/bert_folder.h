// BERT in Hugging Face's folders, alone or with a head that classifies or
// predicts masked words: config.json, model.safetensors, vocab.txt and the
// files of the tokeniser. See docs/hugging_face.md.
#ifndef PRETRAINED_BERT_FOLDER_H_
#define PRETRAINED_BERT_FOLDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "files/file.h"
#include "language/bert_model.h"
#include "language/text_vectors.h"
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
  // The vectors that the files of sentence-transformers ask for.
  VectorOptions vectors;
  std::vector<std::string> notes;  // SentenceFiles::notes

  // Fills the finalized parameters of a Bert or, with `head`, which the folder
  // has, of a TextClassifier of description.classes or a MaskedWordModel. Its
  // vocabulary is description.vocabulary or the size of `pieces`: rows that no
  // token has are left out. `kept` is as of PretrainedWeights::Load().
  absl::Status LoadWeights(BertHead head, ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
};

// `path` is as the user gave it. Errors are complete to print, and name all
// that is wrong with a file: missing tensors, further ones, and those of
// another shape or type. Numbers that are not finite are found when they are
// loaded.
absl::StatusOr<BertFolder> OpenBertFolder(absl::string_view path,
                                          const AttentionRegistry& scorers);

// Writes the BERT of a model, with its head if it is a TextClassifier or a
// MaskedWordModel, and with the files of sentence-transformers if it is a
// TextEmbedder. Makes the folder if it is not there. transformers opens it,
// by the class that config.json names. An InvalidArgument, complete to print,
// names what that does not have.
absl::Status WriteBertFolder(const BertModel& model, const std::string& folder,
                             FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_BERT_FOLDER_H_
