// What config.json of a GPT-2 says, as a config of this library's Transformer.
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
  // Ids; none where it is absent, or no token has it, as transformers warns.
  std::optional<int64_t> begin;
  std::optional<int64_t> end;
};

// Of the text of a file, which errors name. They name all that is wrong, a line
// "PATH:LINE:COLUMN: error: .." each: what is no JSON, sizes that are absent or
// out of range, and what is not computed.
absl::StatusOr<Gpt2Description> ReadGpt2Config(absl::string_view text,
                                               const std::string& path);

// The text of a file. InvalidArgument, complete to print, names the fields of
// config.transformer() that a GPT-2 has not, or has otherwise.
absl::StatusOr<std::string> Gpt2ConfigText(const LanguageModelConfig& config,
                                           const BytePairs& pairs);

}  // namespace regard

#endif  // PRETRAINED_GPT2_CONFIG_H_
