// examples.jsonl: the results of each example of the dev and test sets of a
// run. The format is described in docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_EXAMPLES_FILE_H_
#define EXPERIMENTS_RUN_EXAMPLES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Returns the text of examples.jsonl. The names of metrics have prefixes
// ("test/bleu"). The names of the sets are not stored.
std::string ExamplesText(absl::Span<const EvaluatedSet> sets);

// Reads the sets from a file. Skips metrics whose aggregate is not in
// `aggregates`. Returns InvalidArgument, "PATH:LINE:COLUMN: error: PROBLEM", if
// the text is malformed.
absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates);

// Returns the sets of the test split if there are any, else the sets of dev.
std::vector<EvaluatedSet> FinalSets(std::vector<EvaluatedSet> sets);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_EXAMPLES_FILE_H_
