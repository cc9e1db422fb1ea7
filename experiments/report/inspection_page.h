// What `inspect` shows of one answer: a page, an object of JSON, arrays.
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

struct InspectedAnswer {
  Inspection<float> inspection = {};
  std::optional<PatchedOutput> patched = {};
  std::string other_input = {};  // whose values were patched in
};

// A row for each head of each attention: its importance, the mean entropy of
// its weights in nats and, of self-attention, how much weight goes to the
// position itself, the one before, the one after, the first and the last,
// averaged over all queries. Clark et al., "What does BERT look at?", 2019.
Table HeadsTable(const Inspection<float>& inspection);

// The layer and the head that figures show, from 0; -1: all.
struct FigureChoice {
  int layer = -1;
  int head = -1;
};

// An error, complete to print, if there is no map of this layer and head.
absl::Status CheckFigureChoice(const Inspection<float>& inspection,
                               const FigureChoice& choice);

// The weights of all maps, rollouts and the patch as one image: what looks at
// an image as pictures of it. The layers of a stack and their heads are a grid.
// With a choice, of which there is a map, that layer and head without rollouts
// and patch.
std::string InspectionSvg(const InspectedAnswer& answer,
                          const FigureChoice& choice = {});

// One offline page; `name` says which model. What does not apply is left out.
std::string InspectionHtml(const InspectedAnswer& answer,
                           const std::string& name);

// As docs/json.md says.
nlohmann::ordered_json InspectionJson(const InspectedAnswer& answer);

// The numbers as safetensors, by the names of sites (docs/json.md).
absl::Status WriteInspectionArrays(const InspectedAnswer& answer,
                                   const std::string& path);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_INSPECTION_PAGE_H_
