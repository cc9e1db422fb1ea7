// What ranks tell each other outside of updates. With `ranks` null, or alone, a
// process agrees with itself.
#ifndef OPTIMIZATION_RANKS_AGREEMENT_H_
#define OPTIMIZATION_RANKS_AGREEMENT_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optimization/ranks/ranks.h"

namespace regard {

// That of the first rank that has an error, on all ranks; the message of
// another than rank 0 begins with "rank N: ".
absl::Status AgreeOn(Ranks* ranks, const absl::Status& status);

// What rank 0 gives, on all ranks.
std::string FromFirstRank(Ranks* ranks, absl::string_view text);
// The same, without allocation.
bool FirstRankSays(Ranks* ranks, bool value);

// The largest of what the ranks give, on all ranks. Allocates nothing.
int LargestOf(Ranks* ranks, int value);

// Names and values that must be the same on all ranks. If not, an error with
// `code`, on all ranks, that says where ranks differ from rank 0, a line each.
absl::Status CheckSameOnRanks(Ranks* ranks,
                              const std::map<std::string, std::string>& facts,
                              absl::StatusCode code);

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_AGREEMENT_H_
