// The first screen of an ablation's report: the result by the primary metric as
// a picture and in words.
#ifndef EXPERIMENTS_ABLATION_RESULT_PICTURE_H_
#define EXPERIMENTS_ABLATION_RESULT_PICTURE_H_

#include <string>
#include <vector>

#include "experiments/ablation/comparison.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/run_results.h"

namespace regard {

// The result in sentences: which values differ significantly from the baseline
// of their axis, by how much, and which do not.
std::string ResultInWords(const Grid& grid,
                          const std::vector<Comparison>& comparisons);

// The sentences and a forest plot for each axis, whose dots are seeds, averaged
// over the values of the other axes. Where there are several axes, another plot
// shows each combination of values. Empty if no run has a metric.
std::vector<Block> ResultPicture(const Grid& grid,
                                 const std::vector<Comparison>& comparisons);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_RESULT_PICTURE_H_
