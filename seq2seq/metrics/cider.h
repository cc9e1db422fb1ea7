// The caption metric CIDEr-D: Vedantam, Zitnick and Parikh, "CIDEr:
// consensus-based image description evaluation", CVPR 2015, section 6. The
// scores are the same as in pycocoevalcap.
#ifndef SEQ2SEQ_METRICS_CIDER_H_
#define SEQ2SEQ_METRICS_CIDER_H_

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// Returns a score in [0, 10] for each image. The score of the corpus is the
// mean of these scores. Each image has one prediction and at least one
// reference, as words.
//
// An n-gram of 1 to 4 words weighs less if more images have it in their
// references. A score therefore depends on the references of all images. If
// there is only one image, its score is 0.
std::vector<double> CiderD(
    absl::Span<const std::vector<std::string>> predictions,
    absl::Span<const std::vector<std::vector<std::string>>> references);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_CIDER_H_
