// BERT in Hugging Face's folders: config.json, model.safetensors, vocab.txt and
// the files of the tokeniser. See docs/hugging_face.md.
#ifndef PRETRAINED_BERT_FOLDER_H_
#define PRETRAINED_BERT_FOLDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "data/text/wordpiece.h"
#include "files/file.h"
#include "language/bert.h"
#include "nn/parameters.h"
#include "pretrained/bert_format.h"

namespace regard {

struct PretrainedBert {
  BertDescription description;
  WordPieceOptions options;
  std::unique_ptr<const WordPiece> pieces;
  // Ids that a text is cut to: the least of what the model, the tokeniser and
  // sentence_bert_config.json say.
  int64_t longest = 0;
  std::unique_ptr<ParameterStore<float>> parameters;
  std::unique_ptr<const Bert<float>> bert;
};

// `path` is as the user gave it. Errors are complete to print, and name all
// that is wrong with a file: missing tensors, further ones, those of another
// shape or type, and those with numbers that are not finite.
absl::StatusOr<PretrainedBert> ReadBertFolder(absl::string_view path,
                                              const AttentionRegistry& scorers);

// Makes the folder if it is not there. transformers opens it.
absl::Status WriteBertFolder(const PretrainedBert& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_BERT_FOLDER_H_
