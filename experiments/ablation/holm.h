// Holm's correction of p-values for many comparisons: "A simple sequentially
// rejective multiple test procedure", Scandinavian Journal of Statistics 6
// (1979).
#ifndef EXPERIMENTS_ABLATION_HOLM_H_
#define EXPERIMENTS_ABLATION_HOLM_H_

#include <vector>

#include "absl/types/span.h"

namespace regard {

// The adjusted p-values, in the order given: rejecting those that are at most
// alpha keeps the probability of any false rejection at or below alpha. With
// the m values sorted, the k-th smallest becomes the largest of
// (m - j + 1) p_j over j <= k, at most 1. What is NaN stays so and is not
// counted.
std::vector<double> HolmAdjusted(absl::Span<const double> p_values);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_HOLM_H_
