// Reads Vision Transformers of transformers and timm from Hugging Face model
// folders: config.json, the weights and the image processor. Also writes
// folders for transformers. See docs/hugging_face.md.
#ifndef PRETRAINED_VIT_FOLDER_H_
#define PRETRAINED_VIT_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/attention_registry.h"
#include "files/file.h"
#include "nn/parameters.h"
#include "pretrained/vit_format.h"
#include "vision/image_classifier.h"

namespace regard {

// The contents of a folder, except the weights.
struct VitFolder {
  std::string path;
  VitDescription description;
  VitNames names = VitNames::kTransformers;

  // Fills the finalized parameters of an ImageClassifier. See
  // PretrainedWeights::Load() for `kept`.
  absl::Status LoadWeights(ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
  // Like LoadWeights(), for a classifier with other classes. If the folder has
  // all of these classes, their rows of the head are copied. Otherwise, the
  // head keeps its values.
  absl::Status LoadWeightsForClasses(const std::vector<std::string>& classes,
                                     ParameterStore<float>& parameters,
                                     std::vector<std::string>* kept) const;
};

// Opens a folder at the path that the user gave. Error messages are meant for
// users. They list all problems of the config or, if the config has no
// problems, of the weights. The folder may have no head.
absl::StatusOr<VitFolder> OpenVitFolder(absl::string_view path, VitNames names,
                                        const AttentionRegistry& scorers);

// Writes a folder that transformers can open. The folder is created if it does
// not exist. Returns InvalidArgument, with a message for the user, if the model
// has features that the ViT of transformers lacks.
absl::Status WriteVitFolder(const ImageClassifier& model,
                            const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_VIT_FOLDER_H_
