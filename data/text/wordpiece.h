// BERT's tokeniser: words cut into the pieces of a vocabulary.
//
// A text is cleaned, lower-cased and cut into words by the rules of BERT's
// basic tokeniser; each word becomes the longest pieces of the vocabulary that
// spell it, from the left, where pieces that continue a word are written with
// "##" in front (Wu et al., 2016; Devlin et al., 2019). The ids are those of
// the `tokenizers` library.
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

// A token that a word may contain has at most so many bytes, and a config or a
// file lets a word have at most so many characters: cutting a word into pieces
// takes time by the product of both and the bytes of a token.
inline constexpr size_t kMostTokenBytes = 512;
inline constexpr int64_t kMostLongestWord = 1000;

struct WordPieceOptions {
  // Removes control characters and makes a space of each white space.
  bool clean_text = true;
  // Makes each Chinese character a word.
  bool split_chinese = true;
  bool lower_case = true;
  // Removes nonspacing marks after canonical decomposition; as `lower_case` if
  // absent.
  std::optional<bool> strip_accents;
  // Makes each punctuation mark a word. Without, only white space separates
  // words.
  bool split_punctuation = true;
  // Whether "##" in front of a token says that it continues a word.
  bool continuations = true;
  // A word of more characters is unknown.
  int64_t longest_word = 100;  // at most kMostLongestWord
  // Tokens that are found in a text as they stand, before anything is cleaned.
  std::string unknown = "[UNK]";
  std::string classifier = "[CLS]";
  std::string separator = "[SEP]";
  std::string padding = "[PAD]";
  std::string mask = "[MASK]";
};

// The ids of two texts.
struct EncodedPair {
  std::vector<int32_t> ids;
  int64_t second = 0;  // where those of the second begin
};

// Copyable; does not change once made.
class WordPiece : public TokenList {
 public:
  // Token i of a vocabulary has id i. A token that is empty, there twice, or of
  // more than kMostTokenBytes and not longer than the longest word, and an
  // absent unknown, classifier or separator are errors: each is named,
  // with its line counted from 1, in one InvalidArgument, lines of
  // "PATH:LINE: error: ..".
  static absl::StatusOr<WordPiece> Create(std::vector<std::string> tokens,
                                          absl::string_view path,
                                          const WordPieceOptions& options);
  // The same of a file's text, one token a line.
  static absl::StatusOr<WordPiece> FromText(absl::string_view text,
                                            absl::string_view path,
                                            const WordPieceOptions& options);

  // The words of a text, not yet cut into pieces, without special tokens.
  std::vector<std::string> SplitWords(absl::string_view text) const;

  // The id of a token as it is written in the vocabulary; -1 if there is none.
  using TokenList::Find;
  // Whether `id` continues a word.
  bool Continues(int32_t id) const;

  const WordPieceOptions& options() const { return options_; }
  int32_t unknown() const { return unknown_; }
  int32_t classifier() const { return classifier_; }
  int32_t separator() const { return separator_; }
  int32_t mask() const { return mask_; }  // -1 if there is none
  bool IsSpecial(int32_t id) const;

  // The ids of any bytes; those that are not UTF-8 are read as U+FFFD, which
  // clean_text removes. Nothing is put around them.
  std::vector<int32_t> Tokenize(absl::string_view text) const;

  // [CLS] ids [SEP], cut to at most `longest` >= 2 ids.
  std::vector<int32_t> Encode(absl::string_view text, int64_t longest) const;

  // [CLS] first [SEP] second [SEP], cut to at most `longest` >= 3 ids as the
  // `tokenizers` library cuts the longest first: the longer text loses ids at
  // its end until it is as long as the other, then both do. Of an odd number of
  // ids, the text that was longer keeps one more, of equal ones the second.
  EncodedPair EncodePair(absl::string_view first, absl::string_view second,
                         int64_t longest) const;

  // The text of ids, without special tokens and ids that have none: as the
  // `tokenizers` library decodes, with no space before . ? ! and the comma.
  std::string Decode(absl::Span<const int32_t> ids) const;
  // The text with these tokens in the places of its first masks; what continues
  // a word follows it without a space.
  std::string FillIn(absl::string_view text,
                     absl::Span<const int32_t> ids) const;
  // As Decode() joins words that are not cut into pieces.
  static std::string JoinWords(absl::Span<const std::string> words);

 private:
  explicit WordPiece(const WordPieceOptions& options)
      : TokenList(/*escaped=*/false), options_(options) {}

  // Hands on the special tokens of a text, and the words of what stands between
  // them, with their numbers of characters.
  void Split(absl::string_view text,
             absl::FunctionRef<void(absl::string_view, int64_t)> on_word,
             absl::FunctionRef<void(int32_t)> on_special) const;

  void AppendWord(absl::string_view word, int64_t characters,
                  std::vector<int32_t>* ids) const;

  WordPieceOptions options_;
  // What follows "##" in tokens that begin with it; looked up, never walked.
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
