// Byte-level byte-pair encoding, the tokeniser of GPT-2 (Radford et al., 2019;
// Sennrich et al., "Neural Machine Translation of Rare Words with Subword
// Units", ACL 2016): a text is cut into words, and in each word the pairs of
// neighbours that a list of merges names are joined, those named first first.
// The ids are those of the `tokenizers` library.
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

// Copyable; does not change once made, so one may serve several threads.
class BytePairs {
 public:
  struct Token {
    int32_t id;
    size_t begin;  // bytes [begin, end) of the text
    size_t end;
  };

  // From the text of a tokenizer.json, which `path` names in errors. These are
  // complete to print, and name all that is wrong: an id that is missing or
  // there twice, a byte without a token, a merge that is there twice or of
  // tokens that are not; and what this tokeniser does not do. Its
  // post_processor, truncation and padding have no effect: Encode() puts
  // nothing around a text.
  static absl::StatusOr<BytePairs> FromText(absl::string_view text,
                                            absl::string_view path);
  // A tokenizer.json, which transformers opens as well.
  std::string ToText() const;

  int32_t size() const { return static_cast<int32_t>(bytes_.size()); }

  // The ids of any bytes: added tokens are found first, the leftmost and of
  // several there the longest. Bytes that are not UTF-8 are tokens like others,
  // so AppendBytes() of all ids gives the text back, save white space that an
  // added token strips. Takes memory in proportion to the text, and time by its
  // longest word n: O(log n) a byte.
  std::vector<int32_t> Encode(absl::string_view text) const;
  // The same with the bytes of each; together they are the text.
  std::vector<Token> EncodeWithOffsets(absl::string_view text) const;

  // The bytes of a token, 0 <= id < size(), of an added one its text. A
  // character may take several tokens.
  void AppendBytes(int32_t id, std::string* out) const;

  // The token of these bytes (" the", "<|endoftext|>"), an added one if both
  // are there; nothing if there is none.
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

  // Fills `ids_` and `is_whole_` by the other members.
  void IndexTokens();
  // Calls sink(id, begin, end) for each token of `text`, in order.
  void ForEachToken(
      absl::string_view text,
      absl::FunctionRef<void(int32_t, size_t, size_t)> sink) const;

  std::vector<std::string> bytes_;                 // of each id
  absl::flat_hash_map<std::string, int32_t> ids_;  // by bytes
  std::array<int32_t, 256> byte_ids_ = {};
  std::vector<Merge> merges_;  // by rank
  // The ranks by the ids of left and right.
  absl::flat_hash_map<std::pair<int32_t, int32_t>, int32_t> ranks_;
  // Whether its merges make of the token's bytes that token.
  std::vector<bool> is_whole_;
  AddedTokens added_;
};

// From tokenizer.json or, if there is none, vocab.json and merges.txt of a
// folder. Tokens that added_tokens.json, special_tokens_map.json and
// tokenizer_config.json name, where they are there, are added tokens; without
// these, <|endoftext|> is. Errors are as of FromText(); tokens that are put
// around a text are one, too.
absl::StatusOr<BytePairs> ReadBytePairs(const std::string& folder);

}  // namespace regard

#endif  // DATA_TEXT_BYTE_PAIRS_H_
