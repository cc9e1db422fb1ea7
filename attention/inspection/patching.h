// What one site carries: activation patching (Vig et al., "Investigating gender
// bias in language models using causal mediation analysis", 2020; Meng et al.,
// "Locating and editing factual associations in GPT", 2022).
#ifndef ATTENTION_INSPECTION_PATCHING_H_
#define ATTENTION_INSPECTION_PATCHING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "attention/inspection/trace.h"
#include "nn/forward.h"

namespace regard {

// What happens to the chosen output when one position of a site has the value
// of another input's pass.
struct PatchedSite {
  std::string site;  // with joined steps
  std::vector<std::string> labels;
  std::vector<double> changes;  // of the output, for each position
};

struct PatchedOutput {
  double value;  // of the chosen output, unpatched
  // The same output when all that the model reads is the other input.
  double other_value;
  std::vector<PatchedSite> sites = {};
};

// Of each site of `pattern` in the pass of `traced`, by the values that it has
// in that of `other`. The positions are those of the last axis but one; of a
// step's site, the steps. Takes a pass for each position of each site.
// InvalidArgument if there is no output, no site is of the pattern, or the
// other pass has not such a one of the same shape.
template <typename T>
absl::StatusOr<PatchedOutput> Patch(Forward<T>& forward,
                                    const Traced<T>& traced,
                                    const Traced<T>& other,
                                    const std::string& pattern, int64_t chosen);

}  // namespace regard

#endif  // ATTENTION_INSPECTION_PATCHING_H_
