// chrF: Popovic, "chrF: character n-gram F-score for automatic MT evaluation",
// WMT 2015. Scores equal sacreBLEU's defaults (chrF2): n-grams of 1 to 6
// characters without white space, no words, recall weighing twice as much as
// precision.
#ifndef SEQ2SEQ_METRICS_CHRF_H_
#define SEQ2SEQ_METRICS_CHRF_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// In 0 to 100. `references[i]`, at least one, are the references of
// `predictions[i]`; of several, the one that scores best counts.
double CorpusChrf(absl::Span<const std::string> predictions,
                  absl::Span<const std::vector<std::string>> references);

// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:regard-1";
// `references_each` 0 stands for numbers that vary.
std::string ChrfSignature(int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_CHRF_H_
