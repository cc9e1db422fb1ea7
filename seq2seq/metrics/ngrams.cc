#include "seq2seq/metrics/ngrams.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_join.h"

namespace regard {

NgramCounts CountNgrams(absl::Span<const std::string> units, int order) {
  NgramCounts counts;
  const auto length = static_cast<size_t>(order);
  for (size_t i = 0; i + length <= units.size(); ++i) {
    ++counts[absl::StrJoin(units.subspan(i, length), " ")];
  }
  return counts;
}

int64_t NumNgrams(absl::Span<const std::string> units, int order) {
  return std::max<int64_t>(0, static_cast<int64_t>(units.size()) - order + 1);
}

int64_t SharedNgrams(const NgramCounts& a, const NgramCounts& b) {
  int64_t shared = 0;
  for (const auto& [ngram, count] : a) {
    const auto found = b.find(ngram);
    if (found != b.end()) shared += std::min(count, found->second);
  }
  return shared;
}

}  // namespace regard
