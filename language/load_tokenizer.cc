#include "language/load_tokenizer.h"

#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/text/byte_pairs.h"
#include "files/file.h"
#include "files/sha256.h"

namespace regard {

namespace {

// Returns problems by field. `begin` and `end` must be tokens of the tokenizer.
// Unless examples are lines, a default value need not be a token.
std::map<std::string, std::string> MissingTokens(
    const BytePairs& pairs, absl::string_view folder,
    const LanguageModelConfig& config) {
  const bool lines = config.examples() == LanguageModelConfig::LINES;
  const BytePairsConfig& tokens = config.tokens();
  const BytePairsConfig defaults;
  std::map<std::string, std::string> problems;
  for (const auto& [field, token, by_default] :
       {std::tuple("begin", &tokens.begin(), &defaults.begin()),
        std::tuple("end", &tokens.end(), &defaults.end())}) {
    const bool wanted = !token->empty() && (lines || *token != *by_default);
    if (!wanted || pairs.Find(*token).has_value()) continue;
    problems[field] = absl::StrCat("must be a token of ", folder, "; got '",
                                   absl::Utf8SafeCHexEscape(*token), "'");
  }
  return problems;
}

}  // namespace

TokenizerLoadReport LoadTokenizer(const LanguageModelConfig& config,
                                  TextSplits* text) {
  TokenizerLoadReport tokenized = {config};
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
    tokenized.problems = MissingTokens(*pairs, folder, config);
    status = BytePairs::Parse(text->vocabulary, folder).status();
  }
  if (!status.ok()) {
    tokenized.problems["folder"] =
        std::string(absl::StripPrefix(status.message(), "error: "));
  }
  if (!tokenized.problems.empty()) {
    tokenized.config.set_unit(LanguageModelConfig::CHARACTERS);
    text->vocabulary.clear();
  }
  return tokenized;
}

}  // namespace regard
