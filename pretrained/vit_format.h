// The Hugging Face format of a Vision Transformer: the config.json of
// transformers and of timm, and the names of the weights.
#ifndef PRETRAINED_VIT_FORMAT_H_
#define PRETRAINED_VIT_FORMAT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"
#include "pretrained/pretrained_weights.h"
#include "vision/vision_transformer.pb.h"

namespace regard {

// The description of an image classifier.
struct VitDescription {
  VisionTransformerConfig config;
  ImageFormat format;  // format of the input images
  // The classes of the head. Without a head, the classes that config.json
  // lists.
  std::vector<std::string> classes;
};

// The errors of these functions list all problems, each on a line
// "PATH:LINE:COLUMN: error: ..". Problems are invalid JSON, sizes that are
// missing or out of range, and features that ImageClassifier does not support.

// Parses the text of the config.json of a ViTForImageClassification or a
// ViTModel. The file determines only the size and the channels of the image
// format.
absl::StatusOr<VitDescription> ParseVitConfig(absl::string_view text,
                                              absl::string_view path);

// Reads a folder, with the image format of ReadImageProcessor(). Without a
// processor file, the format has the defaults of ViTImageProcessor: images are
// stretched by a bilinear filter, and mean and standard deviation are 1/2.
absl::StatusOr<VitDescription> ReadVitConfig(const std::string& folder);

// Reads the folder of a timm model vit_SIZE_patchP_N. Its sizes follow from
// this name and "model_args", and its image format from "pretrained_cfg".
absl::StatusOr<VitDescription> ReadTimmConfig(const std::string& folder);

// Returns the config.json of a ViTForImageClassification.
std::string VitConfigText(const VitDescription& description);

enum class VitNames { kTransformers, kTimm };

// Returns the names of the tensors of an ImageClassifier. Without `head`, the
// tensors of a head are ignored.
WeightTable VitWeights(const VitDescription& description, VitNames names,
                       bool head);

}  // namespace regard

#endif  // PRETRAINED_VIT_FORMAT_H_
