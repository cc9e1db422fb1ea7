// CIDEr-D: Vedantam, Zitnick and Parikh, "CIDEr: consensus-based image
// description evaluation", CVPR 2015, section 6. Scores equal those of
// pycocoevalcap.
#ifndef SEQ2SEQ_METRICS_CIDER_H_
#define SEQ2SEQ_METRICS_CIDER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// A score in [0, 10] for each image, of which there is one prediction and at
// least one reference, all as words; that of the corpus is their mean. N-grams
// of 1 to 4 words weigh the less the more of the images' references have them,
// so a score depends on all references, and it is 0 of a single image.
std::vector<double> CiderD(
    absl::Span<const std::vector<std::string>> predictions,
    absl::Span<const std::vector<std::vector<std::string>>> references);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_CIDER_H_
