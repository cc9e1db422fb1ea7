// The explanation of an attention score, as text and as JSON.
#ifndef EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_
#define EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_

#include <string>

#include "attention/inspection/explanation.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Returns the query, the key and their score; the contribution of each source,
// largest first; and the largest terms, followed by the sum of the others and
// the total.
std::string ExplanationText(const ScoreExplanation& explanation);

// Returns the explanation in the format of docs/json.md.
nlohmann::ordered_json ExplanationJson(const ScoreExplanation& explanation);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_
