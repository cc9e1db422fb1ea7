// The tokens that a model knows and their ids, 0 .. size - 1.
//
// The four reserved tokens come first; the others follow by falling frequency,
// ties in the order in which they were first seen. So the same text always
// gives the same ids.
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

// How often each token of a text is seen:
//
//   TokenCounts counts;
//   for (const SentencePair& pair : pairs) counts.Add(pair.source);
//   const Vocabulary vocabulary(counts, /*min_frequency=*/2);
class TokenCounts {
 public:
  void Add(absl::Span<const std::string> tokens) {
    for (const std::string& token : tokens) Add(token, 1);
  }
  // The token was seen `times` times in a row.
  void Add(absl::string_view token, int64_t times) {
    const auto [entry, is_new] = positions_.try_emplace(token, counts_.size());
    if (is_new) counts_.push_back({std::string(token), 0});
    counts_[entry->second].times += times;
  }

  // The tokens that were seen at least `min_frequency` times, by falling
  // frequency, ties in the order in which they were first seen.
  std::vector<std::string> ByFrequency(int64_t min_frequency) const;

 private:
  struct Count {
    std::string token;
    int64_t times;
  };

  std::vector<Count> counts_;  // in order of first sight
  absl::flat_hash_map<std::string, size_t> positions_;
};

class TokenList {
 public:
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  // 0 <= id < size().
  const std::string& Token(int32_t id) const;
  // One token a line in the order of ids, the reserved ones included.
  std::string ToText() const;

  friend bool operator==(const TokenList& a, const TokenList& b) {
    return a.tokens_ == b.tokens_;
  }

 protected:
  // `escaped`: texts have C escapes for what does not print.
  explicit TokenList(bool escaped) : escaped_(escaped) {}

  // -1 for a token that is not there. Does not allocate.
  int32_t Find(absl::string_view token) const;
  // False when the token is there already.
  bool Append(absl::string_view token);
  // Reads what ToText() wrote: first the tokens that are there already, the
  // reserved ones, then others, which are appended. `path` names the text in
  // errors, which say path:line.
  absl::Status AppendText(absl::string_view text, absl::string_view path);

 private:
  bool escaped_;
  std::vector<std::string> tokens_;
  // Looked up, never walked: its order is not a fact.
  absl::flat_hash_map<std::string, int32_t> ids_;
};

// Copyable. A vocabulary does not change once it is made.
class Vocabulary : public TokenList, public ReservedIds {
 public:
  static constexpr absl::string_view kReservedTokens[kReserved] = {
      "<unk>", "<pad>", "<bos>", "<eos>"};

  // The reserved tokens alone.
  Vocabulary();
  // The tokens that were seen at least `min_frequency` times, too; words that
  // spell a reserved token are passed over. Tokens are neither empty nor broken
  // over lines.
  explicit Vocabulary(const TokenCounts& counts, int64_t min_frequency = 1);

  // Reads what ToText() wrote. `path` names the text in errors, which say
  // path:line.
  static absl::StatusOr<Vocabulary> FromText(absl::string_view text,
                                             absl::string_view path);

  // kUnknown for a token that is not in the vocabulary. Does not allocate.
  int32_t Id(absl::string_view token) const;
  // False for the reserved tokens, which text cannot spell.
  bool Contains(absl::string_view token) const;

  // One id a token, without <bos> and <eos>. "<eos>" as a word is unknown.
  std::vector<int32_t> Encode(absl::Span<const std::string> tokens) const;

  // The tokens before the first <eos>, without <bos> and <pad>.
  std::vector<std::string> Decode(absl::Span<const int32_t> ids) const;
};

}  // namespace regard

#endif  // DATA_TEXT_VOCABULARY_H_
