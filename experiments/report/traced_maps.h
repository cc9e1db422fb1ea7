// Converts the maps and images of a trace to plain data with labels.
#ifndef EXPERIMENTS_REPORT_TRACED_MAPS_H_
#define EXPERIMENTS_REPORT_TRACED_MAPS_H_

#include <vector>

#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "experiments/report/run_results.h"

namespace regard {

// Returns the weights of all heads of a map, with the labels of the trace. Only
// maps over a memory have gold alignments.
LabelledMatrix WeightsOf(const TraceDescription& labels,
                         const AttentionMap<float>& map);
// Returns the gradients of a map. The map must have gradients.
LabelledMatrix GradientsOf(const TraceDescription& labels,
                           const AttentionMap<float>& map);

// Returns an image with one weight per patch. `weights` is row-major. The title
// is empty.
WeightedImage WeightedImageOf(const TracedImage& image,
                              std::vector<double> weights);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_TRACED_MAPS_H_
