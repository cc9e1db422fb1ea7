// Byte-level byte-pair encoding, the tokenizer of GPT-2. A text is split into
// words. In each word, neighbouring tokens are merged according to a list of
// merges, in the order of the list. The ids are the same as in the `tokenizers`
// library.
//
// Sources: Radford et al., 2019. Sennrich et al., "Neural Machine Translation
// of Rare Words with Subword Units", ACL 2016.
#ifndef DATA_TEXT_BYTE_PAIRS_H_
#define DATA_TEXT_BYTE_PAIRS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/text/added_tokens.h"

namespace regard {

// A tokenizer with its vocabulary. Copyable, immutable and thread-safe.
class BytePairs {
 public:
  struct Token {
    int32_t id;
    size_t begin;  // bytes [begin, end) of the text
    size_t end;
  };

  // Parses the text of a tokenizer.json. `path` names it in errors, which are
  // ready to print and list all problems:
  //
  // * a missing or repeated id,
  // * a byte without a token,
  // * a repeated merge, or a merge of tokens that do not exist,
  // * unsupported features.
  //
  // Ignores post_processor, truncation and padding, because Encode() adds no
  // tokens to a text.
  static absl::StatusOr<BytePairs> Parse(absl::string_view text,
                                         absl::string_view path);
  // Returns a tokenizer.json, which transformers can also open.
  std::string ToText() const;

  int32_t size() const { return static_cast<int32_t>(bytes_.size()); }

  // Returns the ids of any bytes. Added tokens are found first, from left to
  // right. If several begin at the same byte, the longest is found. Bytes that
  // are not UTF-8 also have tokens. AppendBytes() of all ids therefore restores
  // the text, except for white space that an added token strips.
  //
  // Takes memory proportional to the text. Takes O(log n) time per byte, where
  // n is the length of the longest word.
  std::vector<int32_t> Encode(absl::string_view text) const;
  // Returns the tokens with their bytes. The bytes of all tokens in order are
  // the text.
  std::vector<Token> EncodeWithOffsets(absl::string_view text) const;

  // Appends the bytes of a token, 0 <= id < size(). The bytes of an added token
  // are its text. A character may consist of several tokens.
  void AppendBytes(int32_t id, std::string* out) const;

  // Returns the token with these bytes (" the", "<|endoftext|>"), or `nullopt`
  // if there is none. An added token takes precedence.
  std::optional<int32_t> Find(absl::string_view token) const;

  absl::Span<const AddedToken> added_tokens() const { return added_.tokens(); }

 private:
  friend class BytePairsReader;
  class WordMerger;

  struct Merge {
    int32_t left;
    int32_t right;
    int32_t joined;
  };

  BytePairs() = default;

  // Fills `ids_` and `is_whole_` from the other members.
  void IndexTokens();
  // Calls sink(id, begin, end) for each token of `text`, in order.
  void ForEachToken(
      absl::string_view text,
      absl::FunctionRef<void(int32_t, size_t, size_t)> sink) const;

  std::vector<std::string> bytes_;                 // indexed by id
  absl::flat_hash_map<std::string, int32_t> ids_;  // ids by bytes
  std::array<int32_t, 256> byte_ids_ = {};
  std::vector<Merge> merges_;  // ordered by rank
  // Ranks of the merges by the ids of their left and right token.
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> ranks_;
  // Whether the merges turn the bytes of a token into that token.
  std::vector<bool> is_whole_;
  AddedTokens added_;
};

// Reads the tokenizer of a directory from tokenizer.json. If this file is
// missing, reads vocab.json and merges.txt. <|endoftext|> is an added token if
// vocab.json contains it. Further added tokens are read from added_tokens.json,
// special_tokens_map.json and tokenizer_config.json, if these files exist.
// Errors are the same as in Parse(). Tokens that are added around a text are
// also an error.
absl::StatusOr<BytePairs> ReadBytePairs(const std::string& folder);

}  // namespace regard

#endif  // DATA_TEXT_BYTE_PAIRS_H_
