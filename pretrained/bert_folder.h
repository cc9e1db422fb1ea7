// Reads and writes BERT models as Hugging Face model folders. A model has no
// head, a head for classes, or a head for masked words. A folder contains
// config.json, model.safetensors, vocab.txt and the files of the tokenizer. See
// docs/hugging_face.md.
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

// The contents of a folder, except the weights. `longest` is the minimum of the
// length limits of the model, the tokenizer and sentence_bert_config.json.
struct BertFolder : WordPieceTokenizer {
  std::string path;
  BertDescription description;
  // The options of sentence embeddings in the files of sentence-transformers.
  VectorOptions vectors;
  std::vector<std::string> notes;  // SentenceTransformersSettings::notes

  // Fills the finalized parameters of a model. The folder must contain the head
  // `head`, which determines the type of the model:
  //
  // * no head: a Bert,
  // * a head for classes: a TextClassifier for description.classes,
  // * a head for words: a MaskedWordModel.
  //
  // The vocabulary of the model has the size description.vocabulary or the size
  // of `pieces`. Table rows without a token are dropped. See
  // PretrainedWeights::Load() for `kept`.
  absl::Status LoadWeights(BertHead head, ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
};

// Opens a folder at the path that the user gave. Error messages are meant for
// users and list every problem of a file, such as missing, unexpected and
// mismatched tensors. If all tensors match, numbers that are not finite are not
// reported here, but by LoadWeights().
absl::StatusOr<BertFolder> OpenBertFolder(absl::string_view path,
                                          const AttentionRegistry& scorers);

// Writes a model as a folder, which is created if it does not exist. Writes the
// head of a TextClassifier or a MaskedWordModel, and the files of
// sentence-transformers for a SentenceEmbeddingModel.
//
// transformers can open the folder with the class that config.json names.
// Returns InvalidArgument, with a message for the user, if the model has
// features that this class lacks.
absl::Status WriteBertFolder(const BertBasedModel& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_BERT_FOLDER_H_
