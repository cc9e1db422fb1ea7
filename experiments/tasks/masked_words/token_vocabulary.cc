#include "experiments/tasks/masked_words/token_vocabulary.h"

#include <utility>

#include "absl/status/statusor.h"
#include "files/file.h"
#include "files/sha256.h"
#include "language/masked_text.h"

namespace regard {

TokenVocabulary ReadTokenVocabulary(const MaskedWordsConfig& config,
                                    const std::string& path,
                                    absl::string_view text) {
  std::string problem;
  if (!path.empty()) {
    const std::string file = ResolveUserPath(path);
    const absl::StatusOr<std::string> tokens = ReadFile(file);
    if (tokens.ok()) {
      absl::StatusOr<WordPiece> pieces =
          WordPiece::FromText(*tokens, file, TokenOptions(config));
      if (pieces.ok()) return {*std::move(pieces), Sha256Hex(*tokens), ""};
      problem = std::string(pieces.status().message());
    } else {
      problem = std::string(tokens.status().message());
    }
  }
  return {WordVocabulary(text, config), "", problem};
}

}  // namespace regard
