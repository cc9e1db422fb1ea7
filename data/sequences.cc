#include "data/sequences.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "autodiff/random.h"

namespace regard {
namespace {

SentencePair MakePair(SequenceOrder order, int64_t symbols,
                      const SequenceSplit& split, const RandomStream& random,
                      int64_t position) {
  // Every pair owns as many numbers as the longest needs, and one more for its
  // length.
  uint64_t index = static_cast<uint64_t>(position) * (split.max_length + 1);
  const auto length = static_cast<int64_t>(
      split.min_length +
      random.BelowAt(index++, split.max_length - split.min_length + 1));
  SentencePair pair;
  pair.source.reserve(length);
  for (int64_t i = 0; i < length; ++i) {
    pair.source.push_back(absl::StrCat(random.BelowAt(index++, symbols)));
  }
  pair.target = pair.source;
  if (order == SequenceOrder::kReverse) {
    std::reverse(pair.target.begin(), pair.target.end());
  }
  pair.alignment = SequenceLinks(order, pair.source, pair.target);
  return pair;
}

}  // namespace

std::vector<AlignmentLink> SequenceLinks(
    SequenceOrder order, const std::vector<std::string>& source,
    const std::vector<std::string>& target) {
  const bool reverse = order == SequenceOrder::kReverse;
  const bool fits = reverse ? std::equal(source.rbegin(), source.rend(),
                                         target.begin(), target.end())
                            : source == target;
  std::vector<AlignmentLink> links;
  if (!fits) return links;
  const auto length = static_cast<int>(target.size());
  links.reserve(target.size());
  for (int u = 0; u < length; ++u) {
    links.push_back({.target = u, .source = reverse ? length - 1 - u : u});
  }
  return links;
}

std::vector<SentencePair> MakeSequences(SequenceOrder order, int64_t symbols,
                                        const SequenceSplit& split,
                                        uint64_t seed, absl::string_view name) {
  const RandomStream random(seed, absl::StrCat("data/sequences/", name));
  std::vector<SentencePair> pairs;
  pairs.reserve(split.pairs);
  for (int64_t i = 0; i < split.pairs; ++i) {
    pairs.push_back(MakePair(order, symbols, split, random, i));
  }
  return pairs;
}

}  // namespace regard
