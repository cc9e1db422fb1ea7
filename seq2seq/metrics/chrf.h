// chrF: Popovic, "chrF: character n-gram F-score for automatic MT evaluation",
// WMT 2015; and chrF++: Popovic, "chrF++: words helping character n-grams",
// WMT 2017. Scores equal sacreBLEU's: n-grams of 1 to 6 characters without
// white space, recall weighs twice as much as precision.
#ifndef SEQ2SEQ_METRICS_CHRF_H_
#define SEQ2SEQ_METRICS_CHRF_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "nn/evaluated_set.h"

namespace regard {

struct ChrfOptions {
  // N-grams of up to this many words count too, punctuation split off: 0 is
  // chrF, 2 is chrF++. Range [0, 4].
  int word_order = 0;
};

// For each order, of characters and then of words, the n-grams of the
// prediction, those of the reference that scores best, and those that they
// share. Those of a corpus are the sums over its sentences.
std::vector<double> ChrfStatistics(const std::string& prediction,
                                   absl::Span<const std::string> references,
                                   const ChrfOptions& options = {});

// In 0 to 100.
double ChrfOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kChrf = {"chrf", 3 * 6, &ChrfOfSums};
inline constexpr Aggregate kChrfPlusPlus = {"chrf++", 3 * (6 + 2), &ChrfOfSums};

// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:regard-1";
// `references_each` 0 means that the numbers vary.
std::string ChrfSignature(const ChrfOptions& options = {},
                          int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_CHRF_H_
