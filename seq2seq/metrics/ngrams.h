// The n-grams of a sentence and how many of them another sentence shares.
#ifndef SEQ2SEQ_METRICS_NGRAMS_H_
#define SEQ2SEQ_METRICS_NGRAMS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/types/span.h"

namespace regard {

// How often each n-gram occurs: its units with spaces between.
using NgramCounts = std::map<std::string, int64_t>;

// `units` are words or characters that hold no space; order >= 1.
NgramCounts CountNgrams(absl::Span<const std::string> units, int order);

// max(0, size - order + 1).
int64_t NumNgrams(absl::Span<const std::string> units, int order);

// The n-grams that both sides have, each as often as the poorer side has it.
int64_t SharedNgrams(const NgramCounts& a, const NgramCounts& b);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_NGRAMS_H_
