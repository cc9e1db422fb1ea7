// Sets published numbers beside those of experiments.
#ifndef EXPERIMENTS_ABLATION_CLAIMS_TABLE_H_
#define EXPERIMENTS_ABLATION_CLAIMS_TABLE_H_

#include <map>
#include <string>

#include "experiments/ablation/claims.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/run/status.h"
#include "nn/config_problems.h"

namespace regard {

// Notes claims that say too little, at their paths.
void ValidateClaims(const Claims& claims, ConfigProblems& problems);

// A row for each valid claim: what, source, theirs, ours, verdict. `runs` are
// by the label of the experiment. The verdict is "borne out", "not borne out",
// or why there is none: "not run", "no such metric", "run failed".
Table ClaimsTable(const Claims& claims,
                  const std::map<std::string, RunStatus>& runs);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_CLAIMS_TABLE_H_
