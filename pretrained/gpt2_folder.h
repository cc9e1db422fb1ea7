// Reads and writes GPT-2 models as Hugging Face model folders: config.json, the
// weights, and the files of the tokenizer. Radford et al., "Language models are
// unsupervised multitask learners", 2019. See docs/hugging_face.md.
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

// The contents of a folder, except the weights.
struct Gpt2Folder {
  std::string path;
  // `block` is the number of positions.
  LanguageModelConfig config;
  // The number of rows of the token embedding.
  int64_t vocabulary = 0;
  std::optional<BytePairs> pairs;

  // Loads the weights of the folder into the finalized parameters of a
  // LanguageModel whose vocabulary is `pairs`. Table rows without a token are
  // dropped. See PretrainedWeights::Load() for `kept`.
  absl::Status LoadWeights(ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
};

// Opens a folder at the path that the user gave. Error messages are meant for
// users and list all problems: invalid JSON, sizes that are missing or out of
// range, unsupported features, and the problems of PretrainedWeights.
absl::StatusOr<Gpt2Folder> OpenGpt2Folder(absl::string_view path,
                                          const AttentionRegistry& scorers);

// Writes a folder that transformers can open. The folder is created if it does
// not exist. `config` is the config of `model`. Returns InvalidArgument, with a
// message for the user, if the model has features that GPT-2 lacks.
absl::Status WriteGpt2Folder(const LanguageModelConfig& config,
                             const LanguageModel& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_GPT2_FOLDER_H_
