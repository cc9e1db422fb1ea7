#include "data/text/wordpiece_config.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "data/text/wordpiece.pb.h"

namespace regard {

WordPieceOptions TokenOptions(const WordPieceConfig& config) {
  return {.clean_text = config.clean_text(),
          .split_chinese = config.split_chinese(),
          .lower_case = config.lower_case(),
          .strip_accents = config.has_strip_accents()
                               ? std::optional(config.strip_accents())
                               : std::nullopt,
          .longest_word = config.longest_word(),
          .unknown = config.unknown(),
          .classifier = config.classifier(),
          .separator = config.separator(),
          .padding = config.padding(),
          .mask = config.mask()};
}

WordPieceConfig ToTokenConfig(const WordPieceOptions& options) {
  WordPieceConfig config;
  config.set_clean_text(options.clean_text);
  config.set_split_chinese(options.split_chinese);
  config.set_lower_case(options.lower_case);
  if (options.strip_accents.has_value()) {
    config.set_strip_accents(*options.strip_accents);
  }
  config.set_longest_word(static_cast<int32_t>(options.longest_word));
  config.set_unknown(options.unknown);
  config.set_classifier(options.classifier);
  config.set_separator(options.separator);
  config.set_padding(options.padding);
  config.set_mask(options.mask);
  return config;
}

void ValidateTokens(const WordPieceConfig& config, ConfigProblems& problems) {
  problems.CheckRanges(config);
  if (config.has_vocabulary() && config.vocabulary().empty()) {
    problems.Add("vocabulary", "must name a file");
  }
  if (!config.vocabulary().empty() &&
      config.min_frequency() != WordPieceConfig().min_frequency()) {
    problems.Note("min_frequency",
                  "has no effect: a given vocabulary keeps all of its tokens");
  }
  const WordPieceOptions options = TokenOptions(config);
  for (const auto& [name, token] : {std::pair("unknown", options.unknown),
                                    std::pair("classifier", options.classifier),
                                    std::pair("separator", options.separator),
                                    std::pair("padding", options.padding),
                                    std::pair("mask", options.mask)}) {
    if (token.empty()) problems.Add(name, "must not be empty");
    if (absl::StrContains(token, '\n') || absl::StrContains(token, '\r')) {
      problems.Add(
          name,
          "must not contain a line break: a vocabulary has one token per line");
    }
  }
}

}  // namespace regard
