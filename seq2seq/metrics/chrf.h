// Character F-scores chrF and chrF++, with the same values as in sacreBLEU.
// They count n-grams of 1 to 6 characters without white space. Recall weighs
// twice as much as precision.
//
// Popovic, "chrF: character n-gram F-score for automatic MT evaluation", WMT
// 2015, and "chrF++: words helping character n-grams", WMT 2017.
#ifndef SEQ2SEQ_METRICS_CHRF_H_
#define SEQ2SEQ_METRICS_CHRF_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Returns the statistics of a sentence: three counts for each order of
// character n-grams, then for each order of word n-grams. The three counts are:
// * The number of n-grams in the prediction.
// * The number of n-grams in the reference that scores best.
// * The number of n-grams in both.
//
// The statistics of a corpus are the sums over its sentences.
//
// N-grams of 1 to `word_order` words are counted after punctuation is split
// off. `word_order` 0 gives chrF, and 2 gives chrF++.
std::vector<double> ChrfStatistics(const std::string& prediction,
                                   absl::Span<const std::string> references,
                                   int word_order = 0);

// Returns the F-score in [0, 100] from summed statistics. Precision and recall
// are averaged over the orders that occur in predictions and references.
double ChrfOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kChrf = {"chrf", 3 * 6, &ChrfOfSums};
inline constexpr Aggregate kChrfPlusPlus = {"chrf++", 3 * (6 + 2), &ChrfOfSums};

// Returns the signature, for example
// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:regard-1".
std::string ChrfSignature(int word_order = 0, int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_CHRF_H_
