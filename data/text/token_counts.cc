#include "data/text/token_counts.h"

#include <algorithm>

namespace regard {

std::vector<std::string> TokenCounts::ByFrequency(int64_t min_frequency) const {
  std::vector<const Count*> kept;
  for (const Count& count : counts_) {
    if (count.times >= min_frequency) kept.push_back(&count);
  }
  std::stable_sort(
      kept.begin(), kept.end(),
      [](const Count* a, const Count* b) { return a->times > b->times; });
  std::vector<std::string> tokens;
  for (const Count* count : kept) tokens.push_back(count->token);
  return tokens;
}

}  // namespace regard
