#include "language/read_tokens.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/text/byte_pairs.h"
#include "files/file.h"
#include "files/sha256.h"
#include "language/text_vocabulary.h"

namespace regard {

TokenizedConfig ReadTokens(const LanguageModelConfig& config,
                           TextSplits* text) {
  TokenizedConfig tokenized = {config};
  if (config.unit() != LanguageModelConfig::BYTE_PAIRS ||
      !text->vocabulary.empty()) {
    return tokenized;
  }
  const std::string folder = ResolveUserPath(config.tokens().folder());
  const absl::StatusOr<BytePairs> pairs = ReadBytePairs(folder);
  absl::Status status = pairs.status();
  if (pairs.ok()) {
    text->vocabulary = pairs->ToText();
    tokenized.digest = Sha256Hex(text->vocabulary);
    status =
        TextVocabulary::FromText(text->vocabulary, folder, config).status();
  }
  if (!status.ok()) {
    tokenized.problem = std::string(status.message());
    tokenized.config.set_unit(LanguageModelConfig::CHARACTERS);
    text->vocabulary.clear();
  }
  return tokenized;
}

}  // namespace regard
