// Converts the config.json of a GPT-2 to and from a Transformer config.
#ifndef PRETRAINED_GPT2_CONFIG_H_
#define PRETRAINED_GPT2_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/transformer/transformer.pb.h"
#include "data/text/byte_pairs.h"

namespace regard {

class LanguageModelConfig;

struct Gpt2Description {
  TransformerConfig transformer;
  int64_t vocabulary = 0;
  // The ids of the special tokens. `nullopt` if the file has no such id, or if
  // the id is not below `vocabulary`, which is only a warning in transformers.
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
};

// Parses the text of a config.json. Errors name `path` and list all problems,
// each on a line "PATH:LINE:COLUMN: error: ..": invalid JSON, sizes that are
// missing or out of range, and features that Regard does not support.
absl::StatusOr<Gpt2Description> ReadGpt2Config(absl::string_view text,
                                               const std::string& path);

// Returns the text of a config.json. Returns InvalidArgument, with a message
// for the user, if fields of config.transformer() do not fit a GPT-2.
absl::StatusOr<std::string> Gpt2ConfigText(const LanguageModelConfig& config,
                                           const BytePairs& pairs);

}  // namespace regard

#endif  // PRETRAINED_GPT2_CONFIG_H_
