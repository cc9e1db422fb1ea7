// Why a head attends, as a terminal and a file show it.
#ifndef EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_
#define EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_

#include <string>

#include "attention/inspection/explanation.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// The query, the key and their score; what each source adds, the largest first;
// and the largest terms, followed by the sum of the others and the total.
std::string ExplanationText(const ScoreExplanation& explanation);

// As docs/json.md says.
nlohmann::ordered_json ExplanationJson(const ScoreExplanation& explanation);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_EXPLANATION_REPORT_H_
