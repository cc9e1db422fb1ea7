// The ids of a text that a language model reads and writes: one for each
// character, or for each word.
#ifndef LANGUAGE_TEXT_VOCABULARY_H_
#define LANGUAGE_TEXT_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/text/vocabulary.h"
#include "language/language_model.pb.h"
#include "seq2seq/output_head.h"

namespace regard {

struct EncodedText {
  std::vector<int32_t> ids;
  // Line i is ids[lines[i]] up to lines[i + 1]; one more than there are lines.
  // Empty if lines are not told apart.
  std::vector<int64_t> lines = {};
  // Document i is lines documents[i] up to documents[i + 1]; one more than
  // there are documents. Empty if documents are not told apart.
  std::vector<int64_t> documents = {};
};

// The reserved tokens come first: <unk> of words, <bos> and <eos> of lines.
// Characters follow by code point, words by falling frequency, ties in the
// order in which they were first seen. Copyable; does not change once made.
class TextVocabulary : public TokenList {
 public:
  // The tokens of `text`, which is UTF-8. `config` is valid.
  static TextVocabulary Of(absl::string_view text,
                           const LanguageModelConfig& config);

  // Reads what ToText() wrote for the same config. `path` names the text in
  // errors, which say path:line.
  static absl::StatusOr<TextVocabulary> FromText(
      absl::string_view text, absl::string_view path,
      const LanguageModelConfig& config);

  bool words() const { return words_; }
  bool lines() const { return lines_; }
  // <bos> and <eos>, or -1. No id is padding: targets of -1 are not counted.
  SpecialIds special_ids() const;

  // The ids of a text to train on or to evaluate, which is UTF-8. Unknown words
  // become <unk>; an unknown character fails a check. Lines are told apart if
  // they are examples, and include <bos> and <eos>.
  EncodedText Encode(absl::string_view text) const;

  // The ids that generation begins with: those of `prompt`, after <bos> if
  // lines are examples. Without <bos>, an empty prompt stands for a newline,
  // what new text follows. InvalidArgument, as in "character 5: the model does
  // not know 'x' (U+0078)", for bytes that are not UTF-8, for an unknown
  // character or word, and for an empty prompt if there is no newline.
  absl::StatusOr<std::vector<int32_t>> EncodePrompt(
      absl::string_view prompt) const;

  // An error, complete to print, for a text with a character that is not known;
  // unknown words are <unk>.
  absl::Status CheckKnown(absl::string_view text) const;

  // The ids as text on one line: an arrow for a newline.
  std::string OneLine(absl::Span<const int32_t> ids) const;

  // What `id` adds to a text whose last id is `before`; -1: none. Words are
  // separated by spaces. Nothing for <bos> and <eos>.
  std::string Piece(int32_t before, int32_t id) const;

 private:
  explicit TextVocabulary(const LanguageModelConfig& config);

  // -1 if the text's token is unknown. No text spells <bos> or <eos>.
  int32_t Find(absl::string_view token) const;

  bool words_;
  bool lines_;
  int32_t reserved_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_VOCABULARY_H_
