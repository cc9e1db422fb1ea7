// Messages that ranks exchange outside of optimizer steps. If `ranks` is null
// or has one rank, the functions return the process's own values.
#ifndef OPTIMIZATION_RANKS_AGREEMENT_H_
#define OPTIMIZATION_RANKS_AGREEMENT_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// Returns on all ranks the error of the first rank that has an error. The
// message begins with "rank N: " unless N is 0.
absl::Status AgreeOn(Ranks* ranks, const absl::Status& status);

// Broadcasts the text of rank 0.
std::string BroadcastText(Ranks* ranks, absl::string_view text);
// Broadcasts the value of rank 0. Allocates nothing.
bool BroadcastFlag(Ranks* ranks, bool value);

// Returns on all ranks the largest value. Allocates nothing.
int MaxOverRanks(Ranks* ranks, int value);

// Checks that names and values are the same on all ranks. If they differ,
// returns an error with `code` on all ranks. The error message has one line for
// each difference from rank 0.
absl::Status CheckSameOnRanks(Ranks* ranks,
                              const std::map<std::string, std::string>& facts,
                              absl::StatusCode code);

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_AGREEMENT_H_
