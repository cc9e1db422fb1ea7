// Lists of what a config's attention can be made of, read from the registries
// and the descriptors of options.
#ifndef TOOLS_SCORE_LIST_H_
#define TOOLS_SCORE_LIST_H_

#include <string>

#include "attention/attention_registry.h"
#include "attention/scoring_function.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// For each score: its name in a config, its formula, the number of its
// parameters with default options, and its options with their types and
// defaults. The order is that of the members of Attention.score. After the
// scores come the names and formulas of normalizers, position encodings, score
// maps, key selections, head outputs and state mixers, and the parts of
// attention that are one field, such as a sink.
std::string ListScores(const AttentionRegistry& scorers,
                       const ScoreWidths& widths);

// The same as an object, with the options of all.
nlohmann::ordered_json ScoresJson(const AttentionRegistry& scorers,
                                  const ScoreWidths& widths);

}  // namespace regard

#endif  // TOOLS_SCORE_LIST_H_
