// The first screen of an ablation report, which shows the result by the primary
// metric in a picture and in words.
#ifndef EXPERIMENTS_ABLATION_RESULT_PICTURE_H_
#define EXPERIMENTS_ABLATION_RESULT_PICTURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/ablation/comparison.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/run_results.h"

namespace regard {

// Returns sentences that state which values differ significantly from the
// baseline of their axis, and by how much. They also state which values do not
// differ.
std::string ResultInWords(const ResultGrid& grid,
                          const std::vector<Comparison>& comparisons);

// Returns the sentences of ResultInWords() and a forest plot for each axis.
// Each dot is the metric for one seed, averaged over the values of the other
// axes. With several axes, another plot shows each combination of values. Empty
// if no run has a metric.
std::vector<Block> ResultBlocks(const ResultGrid& grid,
                                const std::vector<Comparison>& comparisons);

// Returns a text such as "a", "a or b", or "a, b or c", if `last` is " or ".
std::string InAList(const std::vector<std::string>& names,
                    absl::string_view last);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_RESULT_PICTURE_H_
