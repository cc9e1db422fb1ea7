// Counts the n-grams of a sentence, and the n-grams that two sentences share.
#ifndef SEQ2SEQ_METRICS_NGRAMS_H_
#define SEQ2SEQ_METRICS_NGRAMS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/types/span.h"

namespace regard {

// The number of occurrences of each n-gram. The key consists of the units of
// the n-gram, joined by spaces.
using NgramCounts = std::map<std::string, int64_t>;

// `units` are words or characters without spaces. `order` must be at least 1.
NgramCounts CountNgrams(absl::Span<const std::string> units, int order);

// Returns max(0, size - order + 1).
int64_t NumNgrams(absl::Span<const std::string> units, int order);

// Returns the number of shared n-grams. An n-gram counts min(a[n-gram],
// b[n-gram]) times.
int64_t SharedNgrams(const NgramCounts& a, const NgramCounts& b);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_NGRAMS_H_
