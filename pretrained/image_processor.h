// What preprocessor_config.json of Hugging Face's folders says of images:
// their size, how they come to it, and how they are normalised.
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

// Whether the folder has preprocessor_config.json or, as since transformers 5,
// processor_config.json.
bool HasImageProcessor(const std::string& folder);

// What the file says of the images that a model takes, whose size and colours
// are those of `otherwise`, which has the values of absent fields. Errors are
// complete to print and name all that is wrong, a line "PATH:LINE:COLUMN:
// error: .." each: other sizes, and what is not computed here.
absl::StatusOr<ImageFormat> ReadImageProcessor(const std::string& folder,
                                               const ImageFormat& otherwise);

// The same of "pretrained_cfg", with which timm evaluates a model of `images`.
// What is wrong is a problem of its file.
ImageFormat ReadTimmFormat(const JsonObject& json, const ImageShape& images);

// Writes preprocessor_config.json, for the processor called `type`.
absl::Status WriteImageProcessor(const ImageFormat& format,
                                 const std::string& type,
                                 const std::string& folder,
                                 FileOperations& files);

}  // namespace regard

#endif  // PRETRAINED_IMAGE_PROCESSOR_H_
