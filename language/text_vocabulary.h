// The ids of a text that a language model reads and writes: one for each
// character, for each word, or for each piece of a word.
#ifndef LANGUAGE_TEXT_VOCABULARY_H_
#define LANGUAGE_TEXT_VOCABULARY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/text/byte_pairs.h"
#include "data/text/vocabulary.h"
#include "files/utf8.h"
#include "language/language_model.pb.h"
#include "seq2seq/output_head.h"

namespace regard {

// Names the tokeniser of BYTE_PAIRS in a run folder.
inline constexpr char kBytePairsFile[] = "tokenizer.json";

struct EncodedText {
  std::vector<int32_t> ids;
  // Line i is ids[lines[i]] up to lines[i + 1]; one more than there are lines.
  // Empty if lines are not told apart.
  std::vector<int64_t> lines = {};
  // Document i is lines documents[i] up to documents[i + 1]; one more than
  // there are documents. Empty if documents are not told apart.
  std::vector<int64_t> documents = {};
};

// Of characters and words, the reserved tokens come first: <unk> of words,
// <bos> and <eos> of lines. Characters follow by code point, words by falling
// frequency, ties in the order in which they were first seen. Pieces of words
// have the ids of their tokeniser, of which two tokens may be <bos> and <eos>.
// Copyable; does not change once made.
class TextVocabulary : private TokenList {
 public:
  // The tokens of `text`, which is UTF-8. `config` is valid, and not of
  // BYTE_PAIRS.
  static TextVocabulary Of(absl::string_view text,
                           const LanguageModelConfig& config);

  // Reads what ToText() wrote for the same config; of BYTE_PAIRS, a
  // tokenizer.json. `path` names the text in errors, which say path:line.
  static absl::StatusOr<TextVocabulary> FromText(
      absl::string_view text, absl::string_view path,
      const LanguageModelConfig& config);

  int32_t size() const { return pairs_ ? pairs_->size() : TokenList::size(); }
  std::string ToText() const;
  // To show; a token that is part of a character has U+FFFD. 0 <= id < size().
  std::string Token(int32_t id) const;

  bool words() const { return unit_ == LanguageModelConfig::WORDS; }
  bool lines() const { return lines_; }
  // What one id is called, in the plural.
  absl::string_view unit_name() const;
  // The tokeniser, of BYTE_PAIRS; else null.
  const BytePairs* pairs() const { return pairs_ ? &*pairs_ : nullptr; }

  // Those that generation treats apart, or -1: <bos>, which it never makes, and
  // <eos>. Of BYTE_PAIRS they may be one token, which ends a text. No id is
  // padding: targets of -1 are not counted.
  SpecialIds special_ids() const;

  // The ids of a text to train on or to evaluate, which is UTF-8. Unknown words
  // become <unk>; an unknown character fails a check. Lines are told apart if
  // they are examples, and include <bos> and <eos>.
  EncodedText Encode(absl::string_view text) const;

  // The ids that generation begins with: those of `prompt`, after <bos> if
  // lines are examples. An empty prompt stands for <bos> or, where there is
  // none, for a newline, what new text follows. InvalidArgument, as in
  // "character 5: the model does not know 'x' (U+0078)", for bytes that are not
  // UTF-8, for an unknown character or word, and for an empty prompt that
  // stands for nothing.
  absl::StatusOr<std::vector<int32_t>> EncodePrompt(
      absl::string_view prompt) const;

  // An error for a text with a character that is not known; unknown words are
  // <unk>. `path` names the text in it, which says path:line:column.
  absl::Status CheckKnown(absl::string_view text, absl::string_view path) const;

  // Characters of the text that the ids stand for; <eos> is a newline. Not of
  // words.
  int64_t CountCharacters(absl::Span<const int32_t> ids) const;

  // The ids as text on one line: an arrow for a newline.
  std::string OneLine(absl::Span<const int32_t> ids) const;

  // The bytes that `id` adds to a text whose last id is `before`; -1: none.
  // Words are separated by spaces. Nothing for <bos> and <eos>.
  std::string Piece(int32_t before, int32_t id) const;

 private:
  explicit TextVocabulary(const LanguageModelConfig& config);

  // -1 if the text's token is unknown. No text spells <bos> or <eos>.
  int32_t Find(absl::string_view token) const;

  // Calls visit(token, its id) for all of `text`; of BYTE_PAIRS, whose ids are
  // all known, the token is empty.
  void ForEachToken(
      absl::string_view text,
      absl::FunctionRef<void(absl::string_view, int32_t)> visit) const;

  LanguageModelConfig::Unit unit_;
  bool lines_;
  int32_t begin_ = -1;  // <bos>
  int32_t end_ = -1;    // <eos>
  std::optional<BytePairs> pairs_;
};

// The text of ids that come one by one: a character that several ids make
// appears when it is whole, and U+FFFD for what does not become one.
//
// The text stops before the first of the stop strings, that whose last byte
// comes first, of several the longest. What one may begin with appears when it
// is known that none does.
class TextStream {
 public:
  // The ids follow `before`; -1: nothing. `vocabulary` and `stops`, of which
  // none is empty, outlive this.
  explicit TextStream(const TextVocabulary& vocabulary, int32_t before = -1,
                      absl::Span<const std::string> stops = {})
      : vocabulary_(vocabulary), before_(before), stops_(stops) {}

  // Nothing once the text stopped.
  std::string Append(int32_t id);
  std::string Finish();

  bool stopped() const { return stopped_; }

 private:
  size_t BeginningOfStop(absl::string_view text) const;

  const TextVocabulary& vocabulary_;
  int32_t before_;
  absl::Span<const std::string> stops_;
  bool stopped_ = false;
  std::string held_;  // a stop string may begin with it
  Utf8Stream bytes_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_VOCABULARY_H_
