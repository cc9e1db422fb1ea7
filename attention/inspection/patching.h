// Activation patching: measures what a hook point contributes to an output.
//
// Vig et al., "Investigating gender bias in language models using causal
// mediation analysis", 2020. Meng et al., "Locating and editing factual
// associations in GPT", 2022.
#ifndef ATTENTION_INSPECTION_PATCHING_H_
#define ATTENTION_INSPECTION_PATCHING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/inspection/trace.h"
#include "nn/forward.h"

namespace regard {

// The changes of the chosen output if one position of a hook point takes its
// value from the pass of another input.
struct PatchedSite {
  std::string site;  // hook point; see AllStepsPattern()
  std::vector<std::string> labels;
  std::vector<double> changes;  // change of the output, by position
};

struct PatchingResult {
  double value;  // the chosen output without a patch
  // The chosen output if all inputs of the model have the values of the other
  // input. NaN if the shapes of the inputs differ.
  double other_value;
  std::vector<PatchedSite> sites = {};
};

// Runs a pass of `traced` for each position of each hook point that matches
// `pattern`. In this pass, the position has its value from the pass of `other`.
// Positions are on the second-to-last axis. If the hook point belongs to a
// step, the positions are the steps.
//
// Returns InvalidArgument if there is no output or no matching hook point. Also
// returns InvalidArgument if the pass of `other` has no hook point of equal
// name and shape.
template <typename T>
absl::StatusOr<PatchingResult> Patch(Forward<T>& forward,
                                     const TraceablePrediction<T>& traced,
                                     const TraceablePrediction<T>& other,
                                     const std::string& pattern,
                                     int64_t chosen);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_PATCHING_H_
