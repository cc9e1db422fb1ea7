#include "data/text/token_vocabulary.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/text/vocabulary.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/sha256.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

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
      // A word that becomes a special token in lower case, such as <UNK>, is
      // not counted.
      if (special.Find(word) < 0) counts.Add(word, 1);
    }
  }
  for (std::string& word : counts.ByFrequency(min_frequency)) {
    tokens.push_back(std::move(word));
  }
  return WordPiece::Create(std::move(tokens), "", options).value();
}

std::vector<std::string> TokensOfTokenizer(const JsonObject& tokenizer) {
  std::vector<std::string> tokens;
  const auto model = tokenizer.Object("model");
  if (!model.has_value()) return tokens;
  const auto vocabulary = model->Object("vocab");
  if (!vocabulary.has_value()) return tokens;
  tokens.resize(vocabulary->json().size());
  for (const auto& [token, id] : vocabulary->json().items()) {
    const auto index =
        id.is_number_unsigned() ? id.get<uint64_t>() : tokens.size();
    if (index < tokens.size() && tokens[index].empty()) {
      tokens[index] = token;
      continue;
    }
    vocabulary->AddProblem(
        token,
        absl::StrCat("the id of '", token, "' must be from 0 to ",
                     tokens.size() - 1, ", and no other token may have it"));
    break;
  }
  return tokens;
}

namespace {

absl::StatusOr<WordPiece> ParseTokens(const std::string& text,
                                      const std::string& path,
                                      const WordPieceOptions& options) {
  if (!absl::EndsWith(path, ".json")) {
    return WordPiece::Parse(text, path, options);
  }
  REGARD_ASSIGN_OR_RETURN(JsonFile json, JsonFile::Parse(text, path));
  std::vector<std::string> tokens = TokensOfTokenizer(json.root());
  REGARD_RETURN_IF_ERROR(json.status());
  return WordPiece::Create(std::move(tokens), path, options);
}

}  // namespace

TokenVocabularyResult ReadTokenVocabulary(const std::string& path,
                                          absl::string_view text,
                                          const WordPieceOptions& options,
                                          int64_t min_frequency) {
  std::string problem;
  if (!path.empty()) {
    const std::string file = ResolveUserPath(path);
    const absl::StatusOr<std::string> tokens = ReadFile(file);
    if (tokens.ok()) {
      absl::StatusOr<WordPiece> pieces = ParseTokens(*tokens, file, options);
      if (pieces.ok()) return {*std::move(pieces), Sha256Hex(*tokens), ""};
      problem = std::string(pieces.status().message());
    } else {
      problem = std::string(tokens.status().message());
    }
  }
  return {WordVocabulary(text, options, min_frequency), "", problem};
}

}  // namespace regard
