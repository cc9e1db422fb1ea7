// BLIP captioners in Hugging Face model folders: config.json,
// model.safetensors, an image processor and WordPiece files. See
// docs/hugging_face.md.
#ifndef PRETRAINED_BLIP_FOLDER_H_
#define PRETRAINED_BLIP_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "files/file.h"
#include "nn/parameters.h"
#include "pretrained/blip_format.h"
#include "pretrained/wordpiece_files.h"
#include "vision/caption_model.h"

namespace regard {

// The contents of a folder, except the weights.
struct BlipFolder {
  std::string path;
  WordPieceTokenizer tokenizer = {};
  BlipDescription description = {};

  // Fills the finalized parameters of a Captioner, which must be the only model
  // in the store. See PretrainedWeights::Load() for `kept`.
  absl::Status LoadWeights(ParameterStore<float>& parameters,
                           std::vector<std::string>* kept) const;
};

// Opens a folder at the path that the user gave. Error messages are meant for
// users and list every problem of a file.
absl::StatusOr<BlipFolder> OpenBlipFolder(absl::string_view path,
                                          const AttentionRegistry& scorers);

// Writes a folder that transformers can open. The folder is created if it does
// not exist. Returns InvalidArgument, with a message for the user, if the model
// has features that BLIP lacks.
absl::Status WriteBlipFolder(const CaptionModel& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_BLIP_FOLDER_H_
