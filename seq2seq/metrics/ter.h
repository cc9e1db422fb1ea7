// The translation edit rate (TER), in percent of the reference's words. Snover
// et al., "A study of translation edit rate with targeted human annotation",
// AMTA 2006:
//
//   100 * (insertions + deletions + substitutions + shifts) / reference words
//
// Scores are the same as in sacreBLEU with its default options, which follow
// Tercom. Texts are in lower case, and words are separated by white space.
// Shifts are found greedily, and the edit distance is computed near the
// diagonal.
#ifndef SEQ2SEQ_METRICS_TER_H_
#define SEQ2SEQ_METRICS_TER_H_

#include <array>
#include <string>

#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Returns the statistics of a sentence with at least one reference. They are
// the number of edits to the nearest reference, and the mean number of words of
// all references. The statistics of a corpus are the sums over its sentences.
std::array<double, 2> TerStatistics(const std::string& prediction,
                                    absl::Span<const std::string> references);

// Returns the rate in percent from summed statistics. Above 100 if there are
// more edits than reference words.
double TerOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kTer = {"ter", 2, &TerOfSums};

// Returns the signature, for example
// "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:regard-1".
std::string TerSignature(int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_TER_H_
