#include "options/name_suggestion.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace regard {

namespace {

constexpr size_t kLongestSuggested = 64;
constexpr size_t kMaxListed = 12;

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b, bool wildcards) {
  std::vector<int> before_last;
  std::vector<int> last;
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    const bool any = wildcards && a[i - 1] == '*';
    row[0] = last[0] + (any ? 0 : 1);
    for (size_t j = 1; j <= b.size(); ++j) {
      if (any) {
        row[j] = std::min(last[j], row[j - 1]);
        continue;
      }
      const int substituted = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substituted});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string SuggestName(absl::string_view name,
                        absl::Span<const std::string> candidates) {
  if (name.size() > kLongestSuggested) return "";
  const std::string lower = absl::AsciiStrToLower(name);
  const std::string* nearest = nullptr;
  int nearest_distance = static_cast<int>(name.size() + 2) / 3 + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = absl::AsciiStrToLower(candidate);
    const int distance = absl::EndsWith(other, absl::StrCat("_", lower))
                             ? 1
                             : EditDistance(lower, other);
    if (distance < nearest_distance) {
      nearest = &candidate;
      nearest_distance = distance;
    }
  }
  if (nearest != nullptr) {
    return absl::StrCat("; did you mean '", *nearest, "'?");
  }
  if (candidates.empty() || candidates.size() > kMaxListed) return "";
  return absl::StrCat("; it can be ", absl::StrJoin(candidates, ", "));
}

}  // namespace regard
