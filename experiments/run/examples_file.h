// The results of each example of a run's dev and test sets: examples.jsonl,
// whose format is in docs/run_folder.md.
#ifndef EXPERIMENTS_RUN_EXAMPLES_FILE_H_
#define EXPERIMENTS_RUN_EXAMPLES_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// The text of examples.jsonl. Names of metrics are prefixed ("test/bleu"); the
// names of the sets are not in the file.
std::string ExamplesText(absl::Span<const EvaluatedSet> sets);

// The sets in a file, without the metrics whose aggregate is not among
// `aggregates`. InvalidArgument, "PATH:LINE:COLUMN: error: PROBLEM", for any
// other text.
absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates);

// The sets of the test split, or, if there are none, of dev.
std::vector<EvaluatedSet> FinalSets(std::vector<EvaluatedSet> sets);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_EXAMPLES_FILE_H_
