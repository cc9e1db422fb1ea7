// chrF: Popovic, "chrF: character n-gram F-score for automatic MT evaluation",
// WMT 2015; and chrF++: Popovic, "chrF++: words helping character n-grams",
// WMT 2017. Scores equal sacreBLEU's: n-grams of 1 to 6 characters without
// white space, recall weighs twice as much as precision.
#ifndef SEQ2SEQ_METRICS_CHRF_H_
#define SEQ2SEQ_METRICS_CHRF_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// For each order, of characters and then of words, the n-grams of the
// prediction, those of the reference that scores best, and those that they
// share. Those of a corpus are the sums over its sentences. N-grams of up to
// `word_order` words count, punctuation split off: 0 is chrF, 2 is chrF++.
std::vector<double> ChrfStatistics(const std::string& prediction,
                                   absl::Span<const std::string> references,
                                   int word_order = 0);

// In 0 to 100.
double ChrfOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kChrf = {"chrf", 3 * 6, &ChrfOfSums};
inline constexpr Aggregate kChrfPlusPlus = {"chrf++", 3 * (6 + 2), &ChrfOfSums};

// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:regard-1".
std::string ChrfSignature(int word_order = 0, int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_CHRF_H_
