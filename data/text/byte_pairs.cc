#include "data/text/byte_pairs.h"

#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "data/text/byte_level.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/check.h"

namespace regard {

// Merges the pairs of a word. Processes one word at a time.
class BytePairs::WordMerger {
 public:
  explicit WordMerger(const BytePairs& pairs) : pairs_(pairs) {}

  // Calls sink(id, begin, end) for each token of `word`, which must not be
  // empty.
  template <typename Sink>
  void ForEachToken(absl::string_view word, Sink sink) {
    symbols_.clear();
    const auto size = static_cast<int64_t>(word.size());
    for (int64_t i = 0; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(word[i]);
      symbols_.push_back({pairs_.byte_ids_[byte], i - 1, i + 1});
    }
    for (int64_t i = 0; i + 1 < size; ++i) Consider(i);
    while (!found_.empty()) {
      const auto [rank, position] = found_.top();
      found_.pop();
      Join(pairs_.merges_[rank], position);
    }
    for (int64_t i = 0; i < size; i = symbols_[i].after) {
      sink(symbols_[i].id, i, symbols_[i].after);
    }
  }

 private:
  // A symbol that was merged into another has id -1.
  struct Symbol {
    int32_t id;
    int64_t before;  // -1 if there is none
    int64_t after;   // the size of the word if there is none
  };
  struct Found {
    int32_t rank;
    int64_t position;  // position of the left symbol
    bool operator>(const Found& other) const {
      return std::tie(rank, position) > std::tie(other.rank, other.position);
    }
  };

  // Searches for a merge of the symbol at `position` with the next symbol.
  void Consider(int64_t position) {
    const Symbol& left = symbols_[position];
    const auto rank = pairs_.ranks_.find({left.id, symbols_[left.after].id});
    if (rank != pairs_.ranks_.end()) found_.push({rank->second, position});
  }

  // Merges the pair at `position`, if it still exists.
  void Join(const Merge& merge, int64_t position) {
    const auto end = static_cast<int64_t>(symbols_.size());
    Symbol& left = symbols_[position];
    if (left.id != merge.left || left.after == end) return;
    Symbol& right = symbols_[left.after];
    if (right.id != merge.right) return;
    left.id = merge.joined;
    left.after = right.after;
    right.id = -1;
    if (left.after < end) {
      symbols_[left.after].before = position;
      Consider(position);
    }
    if (left.before >= 0) Consider(left.before);
  }

  const BytePairs& pairs_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Found, std::vector<Found>, std::greater<>> found_;
};

void BytePairs::ForEachToken(
    absl::string_view text,
    absl::FunctionRef<void(int32_t, size_t, size_t)> sink) const {
  WordMerger merger(*this);
  const auto add_text = [&](absl::string_view rest) {
    while (!rest.empty()) {
      const absl::string_view word = rest.substr(0, FirstWordBytes(rest));
      rest.remove_prefix(word.size());
      const auto begin = static_cast<size_t>(word.data() - text.data());
      const auto whole = ids_.find(word);
      if (whole != ids_.end() && is_whole_[whole->second]) {
        sink(whole->second, begin, begin + word.size());
        continue;
      }
      merger.ForEachToken(word, [&](int32_t id, int64_t first, int64_t end) {
        sink(id, begin + first, begin + end);
      });
    }
  };
  added_.Split(
      text, add_text, [&](const AddedToken& token, absl::string_view bytes) {
        const auto begin = static_cast<size_t>(bytes.data() - text.data());
        sink(token.id, begin, begin + bytes.size());
      });
}

void BytePairs::IndexTokens() {
  for (const AddedToken& token : added_.tokens()) {
    ids_.emplace(token.text, token.id);
  }
  WordMerger merger(*this);
  for (int32_t id = 0; id < size(); ++id) {
    ids_.emplace(bytes_[id], id);
    int32_t first = -1;
    int64_t first_end = 0;
    merger.ForEachToken(bytes_[id],
                        [&](int32_t made, int64_t begin, int64_t end) {
                          if (begin == 0) {
                            first = made;
                            first_end = end;
                          }
                        });
    is_whole_.push_back(first == id &&
                        first_end == static_cast<int64_t>(bytes_[id].size()));
  }
}

std::vector<int32_t> BytePairs::Encode(absl::string_view text) const {
  std::vector<int32_t> ids;
  ForEachToken(text, [&](int32_t id, size_t, size_t) { ids.push_back(id); });
  return ids;
}

std::vector<BytePairs::Token> BytePairs::EncodeWithOffsets(
    absl::string_view text) const {
  std::vector<Token> tokens;
  ForEachToken(text, [&](int32_t id, size_t begin, size_t end) {
    tokens.push_back({id, begin, end});
  });
  return tokens;
}

void BytePairs::AppendBytes(int32_t id, std::string* out) const {
  REGARD_CHECK_GE(id, 0);
  REGARD_CHECK_LT(id, size());
  out->append(bytes_[id]);
}

std::optional<int32_t> BytePairs::Find(absl::string_view token) const {
  const auto found = ids_.find(token);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::string BytePairs::ToText() const {
  using Json = nlohmann::ordered_json;
  std::vector<std::string> spelled;
  for (const std::string& bytes : bytes_) spelled.push_back(SpellBytes(bytes));
  Json added = Json::array();
  for (const AddedToken& token : added_.tokens()) {
    spelled[token.id] = token.text;
    added.push_back({{"id", token.id},
                     {"content", token.text},
                     {"single_word", false},
                     {"lstrip", token.left_strip},
                     {"rstrip", token.right_strip},
                     {"normalized", token.normalized},
                     {"special", token.special}});
  }
  // operator[] of ordered_json would search all earlier keys.
  Json::object_t vocabulary;
  for (int32_t id = 0; id < size(); ++id) {
    vocabulary.emplace_back(spelled[id], id);
  }
  Json merges = Json::array();
  for (const Merge& merge : merges_) {
    merges.push_back({spelled[merge.left], spelled[merge.right]});
  }
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", true}};
  return JsonText({{"version", "1.0"},
                   {"truncation", nullptr},
                   {"padding", nullptr},
                   {"added_tokens", std::move(added)},
                   {"normalizer", nullptr},
                   {"pre_tokenizer", bytes},
                   {"post_processor", nullptr},
                   {"decoder", bytes},
                   {"model",
                    {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", nullptr},
                     {"continuing_subword_prefix", ""},
                     {"end_of_word_suffix", ""},
                     {"fuse_unk", false},
                     {"byte_fallback", false},
                     {"ignore_merges", false},
                     {"vocab", std::move(vocabulary)},
                     {"merges", std::move(merges)}}}}) +
         "\n";
}

}  // namespace regard
