// BLIP that writes captions in Hugging Face's folders: config.json,
// model.safetensors, a processor of images and WordPiece. See
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

// What a folder says of a model; its weights stay there.
struct BlipFolder {
  std::string path;
  WordPieceFiles tokenizer = {};
  BlipDescription description = {};

  // Fills the finalized parameters of a Captioner that is alone in them. `kept`
  // is as of PretrainedWeights::Load().
  absl::Status LoadWeights(ParameterStore<float>& parameters,
                           std::vector<std::string>* kept) const;
};

// `path` is as the user gave it. Errors are complete to print, and name all
// that is wrong with a file.
absl::StatusOr<BlipFolder> OpenBlipFolder(absl::string_view path,
                                          const AttentionRegistry& scorers);

// Makes the folder if it is not there. transformers opens it. An
// InvalidArgument, complete to print, names what a BLIP does not have.
absl::Status WriteBlipFolder(const CaptionModel& model,
                             const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_BLIP_FOLDER_H_
