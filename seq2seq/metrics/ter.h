// Translation edit rate: Snover et al., "A study of translation edit rate with
// targeted human annotation", AMTA 2006:
//
//   100 * (insertions + deletions + substitutions + shifts) / reference words
//
// Scores equal sacreBLEU's defaults, which follow Tercom: lower case, words
// between white space, shifts found greedily, an edit distance near the
// diagonal.
#ifndef SEQ2SEQ_METRICS_TER_H_
#define SEQ2SEQ_METRICS_TER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// At least 0, and above 100 where edits outnumber the reference's words.
// `references[i]`, at least one, are the references of `predictions[i]`; the
// edits are those to the nearest one, the words the mean over all.
double CorpusTer(absl::Span<const std::string> predictions,
                 absl::Span<const std::vector<std::string>> references);

// Edits that make `prediction` the reference, a shift of a phrase being one.
int64_t TranslationEdits(absl::Span<const std::string> prediction,
                         absl::Span<const std::string> reference);

// "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:regard-1";
// `references_each` 0 means that the numbers vary.
std::string TerSignature(int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_TER_H_
