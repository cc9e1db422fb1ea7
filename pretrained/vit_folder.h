// Vision Transformers in Hugging Face's folders, of transformers and of timm:
// config.json, the weights and how images are read. See docs/hugging_face.md.
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

// What a folder says of a model; its weights stay there.
struct VitFolder {
  std::string path;
  VitDescription description;
  VitNames names = VitNames::kTransformers;

  // Fills the finalized parameters of an ImageClassifier. `kept` is as of
  // PretrainedWeights::Load().
  absl::Status LoadWeights(ParameterStore<float>& parameters,
                           std::vector<std::string>* kept = nullptr) const;
  // The same of one of other classes. If each is one of the folder's, its head
  // is made of theirs; else the head keeps its values.
  absl::Status LoadForClasses(const std::vector<std::string>& classes,
                              ParameterStore<float>& parameters,
                              std::vector<std::string>* kept) const;
};

// `path` is as the user gave it. Errors are complete to print, and name all
// that is wrong with the weights or else with the config. A folder may be
// without a head.
absl::StatusOr<VitFolder> OpenVitFolder(absl::string_view path, VitNames names,
                                        const AttentionRegistry& scorers);

// Makes the folder if it is not there. transformers opens it. An
// InvalidArgument, complete to print, names what its ViT does not have.
absl::Status WriteVitFolder(const ImageClassifier& model,
                            const std::string& folder, FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_VIT_FOLDER_H_
