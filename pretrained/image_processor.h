// Reads and writes the preprocessor_config.json of Hugging Face model folders,
// which says how images are resized, cropped and normalized.
#ifndef PRETRAINED_IMAGE_PROCESSOR_H_
#define PRETRAINED_IMAGE_PROCESSOR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/images/image_set.h"
#include "files/file.h"

namespace regard {

class ImageFormat;
class JsonObject;

// Returns whether the folder has preprocessor_config.json or, as written by
// transformers 5, processor_config.json.
bool HasImageProcessor(const std::string& folder);

// Reads the image format. `otherwise` has the size and colours of the model's
// images, and the default values of the other fields. Error messages are meant
// for users and list all problems, each on a line
// "PATH:LINE:COLUMN: error: ..". Problems are sizes that differ from
// `otherwise`, and unsupported features.
absl::StatusOr<ImageFormat> ReadImageProcessor(const std::string& folder,
                                               const ImageFormat& otherwise);

// Reads "pretrained_cfg", the settings with which timm evaluates a model whose
// input images have the shape `images`. Reports invalid values as problems of
// the file.
ImageFormat ReadTimmFormat(const JsonObject& json, const ImageShape& images);

// Writes preprocessor_config.json for the image processor class `type`.
absl::Status WriteImageProcessor(const ImageFormat& format,
                                 const std::string& type,
                                 const std::string& folder,
                                 FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_IMAGE_PROCESSOR_H_
