// Writes the output of `inspect` for one prediction: an HTML page, an image,
// JSON, and arrays.
#ifndef EXPERIMENTS_REPORT_INSPECTION_PAGE_H_
#define EXPERIMENTS_REPORT_INSPECTION_PAGE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "attention/inspection/inspection.h"
#include "attention/inspection/patching.h"
#include "experiments/report/run_results.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

struct InspectedPrediction {
  Inspection<float> inspection = {};
  std::optional<PatchingResult> patched = {};
  std::string other_input = {};  // the input from which values were patched
};

// Returns a table with one row for each head of each attention layer. A row has
// the importance of the head, and the mean entropy of its weights in nats. For
// self-attention, a row also has the mean weights from a query to its own
// position, and to the previous, next, first and last positions. Means are over
// all queries. Source: Clark et al., "What does BERT look at?", 2019.
Table HeadsTable(const Inspection<float>& inspection);

// The layer and the head that figures show, counted from 0. -1 selects all.
struct LayerHeadSelection {
  int layer = -1;
  int head = -1;
};

// Returns an error that can be printed as it is, if there is no map of this
// layer and head.
absl::Status CheckLayerHeadSelection(const Inspection<float>& inspection,
                                     const LayerHeadSelection& choice);

// Draws the weights of all maps, the rollouts and the patch as one SVG image.
// Weights over an image are drawn on the image. The layers and heads of a stack
// form a grid. If `choice` selects a layer or a head, it must exist, and only
// its maps are drawn.
std::string InspectionSvg(const InspectedPrediction& prediction,
                          const LayerHeadSelection& choice = {});

// Returns one HTML page that works offline. `name` is the name of the model.
// Parts that do not apply are omitted.
std::string InspectionHtml(const InspectedPrediction& prediction,
                           const std::string& name);

// Returns the inspection in the format of docs/json.md.
nlohmann::ordered_json InspectionJson(const InspectedPrediction& prediction);

// Writes the values as safetensors, named by hook point (docs/json.md).
absl::Status WriteInspectionArrays(const InspectedPrediction& prediction,
                                   const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_INSPECTION_PAGE_H_
