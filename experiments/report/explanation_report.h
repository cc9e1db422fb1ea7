// The explanation of an attention score, as text and as JSON.
#ifndef EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_
#define EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_

#include <string>

#include "attention/inspection/explanation.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Returns a text with the query, the key, their score, and the contribution of
// each source, largest first. Then come the largest terms, the sum of all other
// terms, and the total.
std::string ExplanationText(const ScoreExplanation& explanation);

// Returns the explanation in the format of docs/json.md.
nlohmann::ordered_json ExplanationJson(const ScoreExplanation& explanation);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_
