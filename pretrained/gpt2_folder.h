// GPT-2 in Hugging Face's folders: config.json, the weights, and the files of
// the tokeniser. Radford et al., "Language models are unsupervised multitask
// learners", 2019. See docs/hugging_face.md.
#ifndef PRETRAINED_GPT2_FOLDER_H_
#define PRETRAINED_GPT2_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "data/text/byte_pairs.h"
#include "files/file.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "nn/parameters.h"

namespace regard {

// What a folder says of a model; its weights stay there.
struct Gpt2Folder {
  std::string path;
  // Of blocks of as many pieces of words as there are positions.
  LanguageModelConfig config;
  // Rows of the table of tokens.
  int64_t vocabulary = 0;
  std::optional<BytePairs> pairs;

  // Fills the finalized parameters of a LanguageModel of `pairs`: rows that no
  // token has are left out. `kept` is as of PretrainedWeights::Load().
  absl::Status LoadWeights(ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
};

// `path` is as the user gave it. Errors are complete to print, and name all
// that is wrong: what is no JSON, sizes that are absent or out of range, what
// this library's Transformer cannot do, and tensors as PretrainedWeights does.
absl::StatusOr<Gpt2Folder> OpenGpt2Folder(absl::string_view path,
                                          const AttentionRegistry& scorers);

// Makes the folder if it is not there. transformers opens it. `config` is that
// of `model`; an InvalidArgument, complete to print, names what a GPT-2 does
// not have.
absl::Status WriteGpt2Folder(const LanguageModelConfig& config,
                             const LanguageModel& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_GPT2_FOLDER_H_
