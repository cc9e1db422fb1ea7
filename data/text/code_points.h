// Sets of Unicode code points.
#ifndef DATA_TEXT_CODE_POINTS_H_
#define DATA_TEXT_CODE_POINTS_H_

#include <algorithm>

#include "absl/types/span.h"
#include "files/utf8.h"

namespace regard {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

// Whether `c` is in one of `ranges`, which must be in ascending order and must
// not overlap.
constexpr bool InRanges(absl::Span<const CodePointRange> ranges, char32_t c) {
  const auto* const range = std::upper_bound(
      ranges.begin(), ranges.end(), c,
      [](char32_t a, const CodePointRange& b) { return a < b.first; });
  return range != ranges.begin() && c <= (range - 1)->last;
}

// Whether `c` has the Unicode property White_Space.
inline bool IsUnicodeSpace(char32_t c) {
  return IsWhitespace(c) && !(c >= 0x1C && c <= 0x1F);
}

}  // namespace regard

#endif  // DATA_TEXT_CODE_POINTS_H_
