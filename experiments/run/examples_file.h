// examples.jsonl: the results of a run for each example of the dev and test
// sets. The format is described in docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_EXAMPLES_FILE_H_
#define EXPERIMENTS_RUN_EXAMPLES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Returns the text of examples.jsonl. The names of metrics contain the split
// ("test/bleu"). The names of the sets are not stored.
std::string ExamplesText(absl::Span<const EvaluatedSet> sets);

// Reads the sets from a file. Skips metrics whose aggregate is not in
// `aggregates`. If the text is malformed, returns InvalidArgument with the
// message "PATH:LINE:COLUMN: error: PROBLEM".
absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates);

// Returns the sets of the test splits, or the sets of dev if there is no test
// set.
std::vector<EvaluatedSet> FinalSets(std::vector<EvaluatedSet> sets);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_EXAMPLES_FILE_H_
