// A vocabulary: the tokens of a model and their ids, 0 .. size - 1.
//
// The four reserved tokens come first. The other tokens follow by descending
// frequency, and ties are in the order of first occurrence. The same text
// therefore always gives the same ids.
#ifndef DATA_TEXT_VOCABULARY_H_
#define DATA_TEXT_VOCABULARY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "data/text/reserved_ids.h"

namespace regard {

// Counts the occurrences of each token of a text:
//
//   TokenCounts counts;
//   for (const SentencePair& pair : pairs) counts.Add(pair.source);
//   const Vocabulary vocabulary(counts, /*min_frequency=*/2);
class TokenCounts {
 public:
  void Add(absl::Span<const std::string> tokens) {
    for (const std::string& token : tokens) Add(token, 1);
  }
  // Adds `times` consecutive occurrences of a token.
  void Add(absl::string_view token, int64_t times) {
    const auto [entry, is_new] = positions_.try_emplace(token, counts_.size());
    if (is_new) counts_.push_back({std::string(token), 0});
    counts_[entry->second].times += times;
  }

  // Returns the tokens that occur at least `min_frequency` times, by descending
  // frequency. Ties are in the order of first occurrence.
  std::vector<std::string> ByFrequency(int64_t min_frequency) const;

 private:
  struct Count {
    std::string token;
    int64_t times;
  };

  std::vector<Count> counts_;  // ordered by first occurrence
  absl::flat_hash_map<std::string, size_t> positions_;
};

class TokenList {
 public:
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  // Returns the token of an id, 0 <= id < size().
  const std::string& Token(int32_t id) const;
  // Returns one token per line in the order of ids, including reserved tokens.
  std::string ToText() const;

  friend bool operator==(const TokenList& a, const TokenList& b) {
    return a.tokens_ == b.tokens_;
  }

 protected:
  // If `escaped`, ToText() and ParseText() use C escapes for characters that do
  // not print.
  explicit TokenList(bool escaped) : escaped_(escaped) {}

  // Returns the id of a token, or -1 if there is none. Does not allocate.
  int32_t Find(absl::string_view token) const;
  // Appends a token. Returns false if the token already exists.
  bool Append(absl::string_view token);
  // Reads the result of ToText(). The text must begin with the tokens that
  // already exist, which are the reserved tokens. The other tokens are
  // appended. `path` names the text in errors, which begin with path:line.
  absl::Status ParseText(absl::string_view text, absl::string_view path);

 private:
  bool escaped_;
  std::vector<std::string> tokens_;
  // Never iterated, because its order is arbitrary.
  absl::flat_hash_map<std::string, int32_t> ids_;
};

// A vocabulary with the reserved tokens. Copyable. Immutable.
class Vocabulary : public TokenList, public ReservedIds {
 public:
  static constexpr absl::string_view kReservedTokens[kReserved] = {
      "<unk>", "<pad>", "<bos>", "<eos>"};

  // A vocabulary of the reserved tokens only.
  Vocabulary();
  // A vocabulary of the reserved tokens and of the tokens that occur at least
  // `min_frequency` times. Ignores words that spell a reserved token. Tokens
  // must not be empty or contain line breaks.
  explicit Vocabulary(const TokenCounts& counts, int64_t min_frequency = 1);

  // Reads the result of ToText(). `path` names the text in errors, which begin
  // with path:line.
  static absl::StatusOr<Vocabulary> Parse(absl::string_view text,
                                          absl::string_view path);

  // Returns the id of a token, or kUnknown if there is none. Does not allocate.
  int32_t Id(absl::string_view token) const;
  // Whether text can contain the token. False for reserved tokens.
  bool HasTextToken(absl::string_view token) const;

  // Returns one id per token, without <bos> and <eos>. The token "<eos>" gets
  // the id of unknown tokens.
  std::vector<int32_t> Encode(absl::Span<const std::string> tokens) const;

  // Returns the tokens before the first <eos>, without <bos> and <pad>.
  std::vector<std::string> Decode(absl::Span<const int32_t> ids) const;
};

}  // namespace regard

#endif  // DATA_TEXT_VOCABULARY_H_
