#include "pretrained/wordpiece_files.h"

#include <string>
#include <utility>

#include "pretrained/bert_format.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr char kVocabulary[] = "vocab.txt";

}  // namespace

absl::StatusOr<WordPieceTokenizer> ReadWordPieceFiles(
    const std::string& folder) {
  REGARD_ASSIGN_OR_RETURN(TokenizerDescription tokenizer,
                          ReadTokenizerFiles(folder));
  WordPieceTokenizer files = {.options = tokenizer.options,
                              .pieces = nullptr,
                              .longest = tokenizer.longest,
                              .vocabulary_file = JoinPath(folder, kVocabulary),
                              .lower_case_file = folder};
  if (!tokenizer.lower_case_file.empty()) {
    files.lower_case_file = JoinPath(folder, tokenizer.lower_case_file);
  }
  absl::StatusOr<WordPiece> pieces = absl::InternalError("");
  if (!PathExists(files.vocabulary_file) && !tokenizer.tokens.empty()) {
    files.vocabulary_file = JoinPath(folder, kTokenizer);
    pieces = WordPiece::Create(std::move(tokenizer.tokens),
                               files.vocabulary_file, tokenizer.options);
  } else {
    REGARD_ASSIGN_OR_RETURN(const std::string text,
                            EnsureErrorPrefix(ReadFile(files.vocabulary_file)));
    pieces = WordPiece::Parse(text, files.vocabulary_file, tokenizer.options);
  }
  REGARD_RETURN_IF_ERROR(pieces.status());
  files.pieces = std::make_unique<const WordPiece>(*std::move(pieces));
  return files;
}

absl::Status CheckWordPieceFiles(const WordPieceTokenizer& tokenizer) {
  const WordPieceOptions defaults;
  if (tokenizer.options.clean_text != defaults.clean_text ||
      tokenizer.options.longest_word != defaults.longest_word) {
    return absl::InvalidArgumentError(
        "error: the tokenizer's clean_text and max_input_chars_per_word must "
        "be the defaults: tokenizer_config.json can store no others");
  }
  if (!tokenizer.options.split_punctuation ||
      !tokenizer.options.continuations) {
    return absl::InvalidArgumentError(
        "error: the tokens must come from a WordPiece vocabulary, as "
        "transformers requires; this model uses the words of its training "
        "text");
  }
  return absl::OkStatus();
}

absl::Status WriteWordPieceFiles(const WordPieceTokenizer& tokenizer,
                                 const std::string& folder,
                                 FileOperations& files) {
  REGARD_RETURN_IF_ERROR(WriteFileAtomically(
      JoinPath(folder, kVocabulary), tokenizer.pieces->ToText(), files));
  return WriteFileAtomically(
      JoinPath(folder, kTokenizerConfig),
      TokenizerConfigText(*tokenizer.pieces, tokenizer.longest), files);
}

}  // namespace regard
