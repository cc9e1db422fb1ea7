// Where pairs of texts with numbers come from.
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

  ScoredPairs splits;
  // SHA-256 of each file, by the field that names it.
  std::map<std::string, std::string> digests;
  // What the user should know of the file, a sentence each.
  std::vector<std::string> notes = {};
};

// Reads a file as TextFile does. Errors say path:line:column: a line that is
// not two texts and a finite number, with tabs between. Blank lines are passed
// over.
absl::StatusOr<ScoredPairsData> ReadScoredPairs(const std::string& path,
                                                const ScoredPairsConfig& config,
                                                int text_version = 1);

}  // namespace regard

#endif  // DATA_TEXT_SCORED_PAIRS_SOURCE_H_
