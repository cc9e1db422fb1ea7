// The Hugging Face format of a BLIP captioner: config.json and the names of the
// weights.
#ifndef PRETRAINED_BLIP_FORMAT_H_
#define PRETRAINED_BLIP_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/images/image_format.pb.h"
#include "pretrained/pretrained_weights.h"
#include "pretrained/wordpiece_files.h"
#include "vision/captioner.h"
#include "vision/captioner.pb.h"

namespace regard {

struct BlipDescription {
  CaptionerConfig config;
  CaptionIds ids = {};
  ImageFormat images;
};

// Reads a folder with config.json and an image processor. Errors list all
// problems of a file, each on a line "PATH:LINE:COLUMN: error: ..". Problems
// are invalid JSON, sizes out of range, ids that `tokenizer` lacks, and
// features that Captioner does not support.
absl::StatusOr<BlipDescription> ReadBlipConfig(
    const std::string& folder, const WordPieceTokenizer& tokenizer);

// Parses the text of a config.json. Messages name `path`. The image format is
// the default of BLIP's processor.
absl::StatusOr<BlipDescription> ParseBlipConfig(
    absl::string_view text, absl::string_view path,
    const WordPieceTokenizer& tokenizer);

// Returns the text of config.json.
std::string BlipConfigText(const BlipDescription& description);

// Returns the names of the tensors of a Captioner.
WeightTable BlipWeights(const BlipDescription& description);

}  // namespace regard

#endif  // PRETRAINED_BLIP_FORMAT_H_
