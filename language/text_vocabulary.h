// The vocabulary of a language model: one id for each character, word or
// subword.
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

// The file name of a BYTE_PAIRS tokenizer in a run directory.
inline constexpr char kBytePairsFile[] = "tokenizer.json";

struct EncodedText {
  std::vector<int32_t> ids;
  // Line i is ids[lines[i] .. lines[i + 1]). The list has one element more than
  // there are lines. Empty if lines are not distinguished.
  std::vector<int64_t> lines = {};
  // Document i is lines documents[i] .. documents[i + 1] - 1. The list has one
  // element more than there are documents. Empty if documents are not
  // distinguished.
  std::vector<int64_t> documents = {};
};

// Maps texts to ids and back.
//
// With characters or words, the special tokens come first: <unk> for words,
// <bos> and <eos> for lines. Characters follow in the order of their code
// points. Words follow by descending frequency, with ties in order of first
// occurrence. Subwords have the ids of their tokenizer, two of whose tokens may
// serve as <bos> and <eos>.
//
// Copyable. Immutable.
class TextVocabulary : private TokenList {
 public:
  // Returns the vocabulary of the tokens of `text`, which must be UTF-8.
  // `config` must be valid and its unit must not be BYTE_PAIRS.
  static TextVocabulary Of(absl::string_view text,
                           const LanguageModelConfig& config);

  // Reads the output of ToText() for the same config, or a tokenizer.json for
  // BYTE_PAIRS. Errors begin with `path` and a line number.
  static absl::StatusOr<TextVocabulary> Parse(
      absl::string_view text, absl::string_view path,
      const LanguageModelConfig& config);

  int32_t size() const { return pairs_ ? pairs_->size() : TokenList::size(); }
  std::string ToText() const;
  // Returns a token for display. `id` must be from 0 to size() - 1. Incomplete
  // characters become U+FFFD.
  std::string Token(int32_t id) const;

  bool words() const { return unit_ == LanguageModelConfig::WORDS; }
  bool lines() const { return lines_; }
  // Returns the plural name of the unit.
  absl::string_view unit_name() const;
  // The tokenizer if the unit is BYTE_PAIRS, or null.
  const BytePairs* pairs() const { return pairs_ ? &*pairs_ : nullptr; }

  // Returns the ids of <bos>, which is never generated, and of <eos>. -1 means
  // that the token does not exist. With BYTE_PAIRS, <bos> and <eos> may be the
  // same token, which then ends a text. No id is padding, and targets of -1 are
  // ignored.
  SpecialIds special_ids() const;

  // Encodes a UTF-8 text for training or evaluation. Unknown words become
  // <unk>. An unknown character fails a check. If lines are examples, the
  // result lists the lines, which include <bos> and <eos>.
  EncodedText Encode(absl::string_view text) const;

  // Returns the ids that generation starts from: the ids of `prompt`, after
  // <bos> if lines are examples. An empty prompt stands for <bos> or, without
  // <bos>, for a newline.
  //
  // Returns InvalidArgument if the prompt is not UTF-8, or contains an unknown
  // character or word. An empty prompt is also an error if the vocabulary has
  // neither <bos> nor a newline. A typical message is "character 5: the model
  // does not know 'x' (U+0078)".
  absl::StatusOr<std::vector<int32_t>> EncodePrompt(
      absl::string_view prompt) const;

  // Returns an error if `text` contains an unknown character. Unknown words are
  // allowed. The error begins with path:line:column.
  absl::Status CheckKnownCharacters(absl::string_view text,
                                    absl::string_view path) const;

  // Returns the number of characters of the text of `ids`. <eos> counts as a
  // newline. The unit must not be WORDS.
  int64_t CountCharacters(absl::Span<const int32_t> ids) const;

  // Returns the ids as text on one line, with arrows for newlines.
  std::string OneLine(absl::Span<const int32_t> ids) const;

  // Returns the bytes that `id` adds to a text. `before` is the preceding id,
  // or -1 at the beginning of the text. Words are separated by spaces. <bos>
  // and <eos> add nothing.
  std::string Piece(int32_t before, int32_t id) const;

 private:
  explicit TextVocabulary(const LanguageModelConfig& config);

  // Returns -1 if the token is unknown. No text contains <bos> or <eos>.
  int32_t Find(absl::string_view token) const;

  // Calls visit(token, id) for each token of `text`. With BYTE_PAIRS the token
  // is empty, because all ids are known.
  void ForEachToken(
      absl::string_view text,
      absl::FunctionRef<void(absl::string_view, int32_t)> visit) const;

  LanguageModelConfig::Unit unit_;
  bool lines_;
  int32_t begin_ = -1;  // <bos>
  int32_t end_ = -1;    // <eos>
  std::optional<BytePairs> pairs_;
};

// The text of ids that arrive one by one. A character that consists of several
// ids appears when it is complete. Invalid bytes become U+FFFD.
//
// The text stops before the first complete stop string. If several stop strings
// end with the same byte, the longest one counts. Bytes that may begin a stop
// string appear once it is certain that they do not begin one.
class IncrementalTextDecoder {
 public:
  // `before` is the id before the first id, or -1 if there is none.
  // `vocabulary` and `stops` must outlive this object. No stop string may be
  // empty.
  explicit IncrementalTextDecoder(const TextVocabulary& vocabulary,
                                  int32_t before = -1,
                                  absl::Span<const std::string> stops = {})
      : vocabulary_(vocabulary), before_(before), stops_(stops) {}

  // Returns the new text. Empty after the text has stopped.
  std::string Append(int32_t id);
  std::string Finish();

  bool stopped() const { return stopped_; }

 private:
  size_t PartialStopLength(absl::string_view text) const;

  const TextVocabulary& vocabulary_;
  int32_t before_;
  absl::Span<const std::string> stops_;
  bool stopped_ = false;
  std::string held_;  // may begin a stop string
  Utf8Stream bytes_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_VOCABULARY_H_
