// What preprocessor_config.json of Hugging Face's folders says of images:
// their size, how they come to it, and how they are normalised.
#ifndef PRETRAINED_IMAGE_PROCESSOR_H_
#define PRETRAINED_IMAGE_PROCESSOR_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_format.pb.h"
#include "data/images/image_set.h"
#include "files/json_file.h"

namespace regard {

// Reads preprocessor_config.json or, if there is none, "image_processor" of
// processor_config.json, where transformers 5 writes it. `otherwise` has the
// size of what the model reads, and what absent fields and files stand for.
// Errors name all that is wrong, a line "PATH:LINE:COLUMN: error: .." each:
// another size, and what is not computed here.
absl::StatusOr<ImageFormat> ReadImageProcessor(const std::string& folder,
                                               const ImageFormat& otherwise);

// The same of "pretrained_cfg", with which timm evaluates a model of `images`.
// What is wrong is a problem of its file.
ImageFormat ReadTimmFormat(const JsonObject& json, const ImageShape& images);

// The text of preprocessor_config.json; `type` is transformers' class.
std::string ImageProcessorText(const ImageFormat& format,
                               absl::string_view type);

}  // namespace regard

#endif  // PRETRAINED_IMAGE_PROCESSOR_H_
