// What Hugging Face's config.json of a BLIP that writes captions says, and the
// names of its weights.
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

// Of a folder with config.json and a processor of images; `tokenizer` is its
// tokeniser. Errors name all that is wrong with a file, a line
// "PATH:LINE:COLUMN: error: .." each: what is no JSON, sizes out of range, ids
// that are not the tokeniser's, and what Captioner cannot do.
absl::StatusOr<BlipDescription> ReadBlipConfig(const std::string& folder,
                                               const WordPieceFiles& tokenizer);

// The same of the text of config.json, whose messages name `path`, but for the
// images, which are as BLIP's processor has them.
absl::StatusOr<BlipDescription> ParseBlipConfig(
    absl::string_view text, absl::string_view path,
    const WordPieceFiles& tokenizer);

// The text of config.json.
std::string BlipConfigText(const BlipDescription& description);

// Where the parameters of a Captioner are.
WeightTable BlipWeights(const BlipDescription& description);

}  // namespace regard

#endif  // PRETRAINED_BLIP_FORMAT_H_
