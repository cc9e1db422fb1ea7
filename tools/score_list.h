// What may be written in a config's `attention`, read from the registry of
// scores and the descriptors of their options.
#ifndef TOOLS_SCORE_LIST_H_
#define TOOLS_SCORE_LIST_H_

#include <string>

#include "attention/attention_registry.h"
#include "attention/scoring_function.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// For each score: its name in a config, its formula, the number of its
// parameters with default options, and its options with their types and
// defaults. The order is that of the members of Attention.score.
std::string ListScores(const AttentionRegistry& scorers,
                       const ScoreWidths& widths);

// The same as an object.
nlohmann::ordered_json ScoresJson(const AttentionRegistry& scorers,
                                  const ScoreWidths& widths);

}  // namespace regard

#endif  // TOOLS_SCORE_LIST_H_
