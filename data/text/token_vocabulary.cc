#include "data/text/token_vocabulary.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "data/text/vocabulary.h"
#include "files/file.h"
#include "files/sha256.h"

namespace regard {

WordPiece WordVocabulary(absl::string_view text,
                         const WordPieceOptions& options,
                         int64_t min_frequency) {
  std::vector<std::string> tokens;
  for (const std::string& token :
       {options.padding, options.unknown, options.classifier, options.separator,
        options.mask}) {
    if (std::ranges::find(tokens, token) == tokens.end()) {
      tokens.push_back(token);
    }
  }
  const WordPiece special = WordPiece::Create(tokens, "", options).value();
  TokenCounts counts;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    for (const std::string& word : special.SplitWords(line)) {
      // <UNK> in lower case is no word, either.
      if (special.Find(word) < 0) counts.Add(word, 1);
    }
  }
  for (std::string& word : counts.ByFrequency(min_frequency)) {
    tokens.push_back(std::move(word));
  }
  return WordPiece::Create(std::move(tokens), "", options).value();
}

TokenVocabulary ReadTokenVocabulary(const std::string& path,
                                    absl::string_view text,
                                    const WordPieceOptions& options,
                                    int64_t min_frequency) {
  std::string problem;
  if (!path.empty()) {
    const std::string file = ResolveUserPath(path);
    const absl::StatusOr<std::string> tokens = ReadFile(file);
    if (tokens.ok()) {
      absl::StatusOr<WordPiece> pieces =
          WordPiece::FromText(*tokens, file, options);
      if (pieces.ok()) return {*std::move(pieces), Sha256Hex(*tokens), ""};
      problem = std::string(pieces.status().message());
    } else {
      problem = std::string(tokens.status().message());
    }
  }
  return {WordVocabulary(text, options, min_frequency), "", problem};
}

}  // namespace regard
