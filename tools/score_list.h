// Lists the plug-ins of attention that configs can use, from the registries and
// the descriptors of their options.
#ifndef TOOLS_SCORE_LIST_H_
#define TOOLS_SCORE_LIST_H_

#include <string>

#include "attention/attention_registry.h"
#include "attention/scoring_function.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Returns a list of the scores, in the order of the members of Attention.score.
// Each score has its name in a config, its formula, its number of parameters
// with default options, and its options with types and defaults. Then come
// normalizers, position encodings, score maps, key selections, head outputs and
// state mixers, with names and formulas. The last entries are parts of
// attention that are single fields, such as a sink.
std::string ListScores(const AttentionRegistry& scorers,
                       const ScoreWidths& widths);

// Returns the list as a JSON object, with the options of all plug-ins.
nlohmann::ordered_json ScoresJson(const AttentionRegistry& scorers,
                                  const ScoreWidths& widths);

}  // namespace regard

#endif  // TOOLS_SCORE_LIST_H_
