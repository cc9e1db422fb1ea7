// Maps and images of a trace as plain data, labelled for readers.
#ifndef EXPERIMENTS_REPORT_TRACED_MAPS_H_
#define EXPERIMENTS_REPORT_TRACED_MAPS_H_

#include <vector>

#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "experiments/report/run_results.h"

namespace regard {

// The weights of a map, of all heads, with the labels of a trace. Gold links
// are of maps over a memory.
LabelledMatrix WeightsOf(const TraceLabels& labels,
                         const AttentionMap<float>& map);
// The same of the gradients; the map has them.
LabelledMatrix GradientsOf(const TraceLabels& labels,
                           const AttentionMap<float>& map);

// An image under a weight for each of its patches, row by row. Without a title.
Picture PictureOf(const TracedImage& image, std::vector<double> weights);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_TRACED_MAPS_H_
