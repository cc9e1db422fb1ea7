// What Hugging Face's files of a Vision Transformer say: the config.json of
// transformers' ViT and of timm's, and the names of the weights.
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

// Of an image classifier.
struct VitDescription {
  VisionTransformerConfig config;
  ImageFormat format;  // of the images it reads
  // Of the head; without one, those that config.json lists all the same.
  std::vector<std::string> classes;
};

// Errors of both name all that is wrong, a line "PATH:LINE:COLUMN: error: .."
// each: what is no JSON, sizes that are absent or out of range, and what an
// image classifier of this library cannot do.

// Of the text of a ViTForImageClassification's or ViTModel's config.json; of
// the format, it says the size.
absl::StatusOr<VitDescription> ParseVitConfig(absl::string_view text,
                                              absl::string_view path);

// The same of a folder, with the format of ReadImageProcessor(). Without its
// files, images are stretched by a bilinear filter, and mean and deviation are
// 1/2, as ViTImageProcessor has them.
absl::StatusOr<VitDescription> ReadVitConfig(const std::string& folder);

// Of timm's vit_SIZE_patchP_N, whose sizes follow from that name and
// "model_args", and whose format is in "pretrained_cfg".
absl::StatusOr<VitDescription> ReadTimmConfig(const std::string& folder);

// The config.json of a ViTForImageClassification.
std::string VitConfigText(const VitDescription& description);

enum class VitNames { kTransformers, kTimm };

// Where the parameters of an ImageClassifier are. Without `head`, those of one
// are passed over.
WeightTable VitWeights(const VitDescription& description, VitNames names,
                       bool head);

}  // namespace regard

#endif  // PRETRAINED_VIT_FORMAT_H_
