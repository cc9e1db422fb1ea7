#include "seq2seq/metrics/alignment_error_rate.h"

#include <algorithm>
#include <iterator>

#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

std::vector<AlignmentLink> Sorted(absl::Span<const AlignmentLink> links) {
  std::vector<AlignmentLink> sorted(links.begin(), links.end());
  std::sort(sorted.begin(), sorted.end());
  REGARD_DCHECK(std::adjacent_find(sorted.begin(), sorted.end()) ==
                sorted.end());
  return sorted;
}

}  // namespace

void AlignmentErrorRate::Add(absl::Span<const AlignmentLink> predicted,
                             absl::Span<const AlignmentLink> gold) {
  const std::vector<AlignmentLink> a = Sorted(predicted);
  const std::vector<AlignmentLink> b = Sorted(gold);
  std::vector<AlignmentLink> shared;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(),
                        std::back_inserter(shared));
  predicted_ += static_cast<int64_t>(a.size());
  gold_ += static_cast<int64_t>(b.size());
  shared_ += static_cast<int64_t>(shared.size());
}

double AlignmentErrorRate::Rate() const {
  const int64_t links = predicted_ + gold_;
  if (links == 0) return 0.0;
  return 1.0 - 2.0 * static_cast<double>(shared_) / static_cast<double>(links);
}

std::vector<AlignmentLink> MaxWeightLinks(absl::Span<const float> weights,
                                          int columns, int target_words,
                                          int source_words) {
  REGARD_CHECK(
      target_words >= 0 && source_words >= 0 && source_words <= columns &&
      static_cast<int64_t>(weights.size()) >= int64_t{target_words} * columns)
      << weights.size() << " weights in rows of " << columns << " for "
      << target_words << " target and " << source_words << " source words";
  std::vector<AlignmentLink> links;
  for (int target = 0; target < target_words; ++target) {
    const absl::Span<const float> row =
        weights.subspan(int64_t{target} * columns, columns);
    const auto greatest = std::max_element(row.begin(), row.end());
    if (greatest == row.end() || !(*greatest > 0.0f)) continue;
    const auto source = static_cast<int>(greatest - row.begin());
    if (source < source_words) {
      links.push_back({.target = target, .source = source});
    }
  }
  return links;
}

std::vector<AlignmentLink> DiagonalLinks(int target_length, int source_length) {
  REGARD_CHECK_GE(target_length, 0);
  REGARD_CHECK_GE(source_length, 0);
  std::vector<AlignmentLink> links;
  if (source_length == 0) return links;
  for (int64_t target = 0; target < target_length; ++target) {
    // Integer arithmetic rounds halves up exactly.
    const int64_t nearest = (2 * target * source_length + target_length) /
                            (2 * int64_t{target_length});
    links.push_back({.target = static_cast<int>(target),
                     .source = static_cast<int>(
                         std::min<int64_t>(nearest, source_length - 1))});
  }
  return links;
}

}  // namespace regard
