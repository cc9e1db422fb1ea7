// WordPiece, the tokenizer of BERT: splits words into the pieces of a
// vocabulary.
//
// A text is cleaned, converted to lower case, and split into words by the rules
// of BERT's basic tokenizer. From the left, each word is then split into the
// longest pieces in the vocabulary. Pieces that continue a word begin with "##"
// (Wu et al., 2016; Devlin et al., 2019). The ids are the same as in the
// `tokenizers` library.
#ifndef DATA_TEXT_WORDPIECE_H_
#define DATA_TEXT_WORDPIECE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/text/added_tokens.h"
#include "data/text/vocabulary.h"

namespace regard {

// The maximum number of bytes of a token within a word. Bounds the time for
// splitting a word.
inline constexpr size_t kMaxTokenBytes = 512;
// The maximum value of longest_word. Bounds the time for splitting a word.
inline constexpr int64_t kMaxLongestWord = 1000;

struct WordPieceOptions {
  // Removes control characters, and replaces all white space with spaces.
  bool clean_text = true;
  // Makes each Chinese character a word.
  bool split_chinese = true;
  bool lower_case = true;
  // Removes nonspacing marks after decomposition. Defaults to `lower_case`.
  std::optional<bool> strip_accents;
  // Makes each punctuation mark a word. If false, only white space ends words.
  bool split_punctuation = true;
  // Whether "##" at the beginning of a token means that it continues a word.
  bool continuations = true;
  // The largest number of characters of a word. Longer words are unknown.
  int64_t longest_word = 100;  // at most kMaxLongestWord
  // Special tokens, found literally in a text before it is cleaned.
  std::string unknown = "[UNK]";
  std::string classifier = "[CLS]";
  std::string separator = "[SEP]";
  std::string padding = "[PAD]";
  std::string mask = "[MASK]";
};

// The ids of a pair of texts.
struct EncodedPair {
  std::vector<int32_t> ids;
  int64_t second = 0;  // index of the first id of the second text
};

// A tokenizer with its vocabulary. Copyable. Immutable.
class WordPiece : public TokenList {
 public:
  // Makes a tokenizer. Token i has id i. Returns one InvalidArgument with all
  // errors, as lines "PATH:LINE: error: ..". Line numbers start at 1. These are
  // errors:
  //
  // * a token that is empty, repeated or not UTF-8,
  // * a token of more than kMaxTokenBytes bytes, unless it has more than
  //   longest_word characters and can therefore never occur,
  // * a missing unknown, classifier or separator token.
  static absl::StatusOr<WordPiece> Create(std::vector<std::string> tokens,
                                          absl::string_view path,
                                          const WordPieceOptions& options);
  // Makes a tokenizer from the text of a file with one token per line. Errors
  // are the same as in Create().
  static absl::StatusOr<WordPiece> Parse(absl::string_view text,
                                         absl::string_view path,
                                         const WordPieceOptions& options);

  // Returns the words of a text before they are split into pieces, without
  // special tokens.
  std::vector<std::string> SplitWords(absl::string_view text) const;

  // Returns the id of a token as in the vocabulary, or -1 if there is none.
  using TokenList::Find;
  // Whether `id` continues a word.
  bool ContinuesWord(int32_t id) const;

  const WordPieceOptions& options() const { return options_; }
  int32_t unknown() const { return unknown_; }
  int32_t classifier() const { return classifier_; }
  int32_t separator() const { return separator_; }
  int32_t mask() const { return mask_; }  // -1 if there is none
  bool IsSpecial(int32_t id) const;

  // Returns the ids of any bytes, without [CLS] and [SEP]. Bytes that are not
  // UTF-8 are read as U+FFFD, which clean_text removes.
  std::vector<int32_t> Tokenize(absl::string_view text) const;

  // Returns [CLS] ids [SEP], truncated to at most `longest` >= 2 ids.
  std::vector<int32_t> Encode(absl::string_view text, int64_t longest) const;

  // Returns [CLS] first [SEP] second [SEP], truncated to at most `longest` >= 3
  // ids, like `longest_first` of the `tokenizers` library. The longer text
  // loses ids at its end until the texts have equal lengths. After that, both
  // texts lose ids. If the number of remaining ids is odd, the text that was
  // longer keeps one more id. If the texts were equally long, the second text
  // keeps one more id.
  EncodedPair EncodePair(absl::string_view first, absl::string_view second,
                         int64_t longest) const;

  // Returns the text of ids, without special tokens and without ids that do not
  // exist. As in the `tokenizers` library, there is no space before . ? ! and
  // the comma.
  std::string Decode(absl::Span<const int32_t> ids) const;
  // Returns the text after replacing its first mask tokens with the tokens
  // `ids`, in order. If a token continues a word, no space precedes it.
  std::string FillIn(absl::string_view text,
                     absl::Span<const int32_t> ids) const;
  // Joins words that are not split into pieces, as Decode() does.
  static std::string JoinWords(absl::Span<const std::string> words);

 private:
  explicit WordPiece(const WordPieceOptions& options)
      : TokenList(/*escaped=*/false), options_(options) {}

  // Splits a text at its special tokens, and calls `on_special` for each of
  // them. Calls `on_word` for each word between special tokens, with its number
  // of characters.
  void Split(absl::string_view text,
             absl::FunctionRef<void(absl::string_view, int64_t)> on_word,
             absl::FunctionRef<void(int32_t)> on_special) const;

  void AppendWord(absl::string_view word, int64_t characters,
                  std::vector<int32_t>* ids) const;

  WordPieceOptions options_;
  // Tokens that begin with "##", without this prefix. Never iterated.
  absl::flat_hash_map<std::string, int32_t> continuations_;
  size_t longest_piece_ = 0;  // bytes
  AddedTokens special_;
  int32_t unknown_ = -1;
  int32_t classifier_ = -1;
  int32_t separator_ = -1;
  int32_t mask_ = -1;
};

}  // namespace regard

#endif  // DATA_TEXT_WORDPIECE_H_
