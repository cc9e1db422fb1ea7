// How often each token of a text is seen.
#ifndef DATA_TEXT_TOKEN_COUNTS_H_
#define DATA_TEXT_TOKEN_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace regard {

class TokenCounts {
 public:
  // The token was seen `times` times in a row.
  void Add(absl::string_view token, int64_t times = 1) {
    const auto [entry, is_new] = positions_.try_emplace(token, counts_.size());
    if (is_new) counts_.push_back({std::string(token), 0});
    counts_[entry->second].times += times;
  }

  // The tokens that were seen at least `min_frequency` times, by falling
  // frequency, ties in the order in which they were first seen. So the same
  // text always gives the same list.
  std::vector<std::string> ByFrequency(int64_t min_frequency) const;

 private:
  struct Count {
    std::string token;
    int64_t times;
  };

  std::vector<Count> counts_;  // in order of first sight
  absl::flat_hash_map<std::string, size_t> positions_;
};

}  // namespace regard

#endif  // DATA_TEXT_TOKEN_COUNTS_H_
