// The data source of pairs of texts with scores.
#ifndef DATA_TEXT_SCORED_PAIRS_SOURCE_H_
#define DATA_TEXT_SCORED_PAIRS_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/text/text_splits.h"

namespace regard {

class ScoredPairsConfig;

struct ScoredPairsData {
  static constexpr char kName[] = "scored pairs of texts";

  ScoredPairSplits splits;
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests;
  // Notes about the file for the user, one sentence each.
  std::vector<std::string> notes = {};
};

// Reads a file as TextFile does. Blank lines are ignored. Each other line must
// have two texts and a finite number, separated by tabs. Errors begin with
// path:line:column.
absl::StatusOr<ScoredPairsData> ReadScoredPairs(const std::string& path,
                                                const ScoredPairsConfig& config,
                                                int text_version = 1);

}  // namespace regard

#endif  // DATA_TEXT_SCORED_PAIRS_SOURCE_H_
