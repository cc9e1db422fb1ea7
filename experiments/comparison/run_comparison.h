// Compares two runs by their configs and metrics, and several runs by the
// significance of their differences.
#ifndef EXPERIMENTS_COMPARISON_RUN_COMPARISON_H_
#define EXPERIMENTS_COMPARISON_RUN_COMPARISON_H_

#include <string>

#include "absl/types/span.h"
#include "experiments/ablation/grid.h"
#include "nlohmann/json_fwd.hpp"

namespace regard {

// Returns lines to print: each field that differs as "before -> after", each
// metric with its change, and whether the weights are bit-identical. If only
// one run has a field or metric, reports it as missing from the other run.
std::string RunComparisonText(const ComparedRun& before,
                              const ComparedRun& after);

// Returns lines to print: the state and the step of each run, and the runs that
// are not compared because they have not finished. Empty for two finished runs,
// for which RunComparisonText() reports the states.
std::string StatesText(absl::Span<const ComparedRun> runs);

// Returns the runs as a grid with one axis, "run", whose baseline is the first
// run. Uses the test sets, or the dev sets if there are no test sets.
//
// Runs that differ only in `seed` and annotations (IsAnnotation()) form one
// value. If all runs differ only in these fields, each run is a value. The grid
// does not include running and interrupted runs, because they may still finish,
// but it has their values. In a failed run, ComparedRun::missing states the
// reason.
ResultGrid GridOfRuns(absl::Span<const ComparedRun> runs);

// Returns lines to print: the metrics of each run with 95 % intervals over
// examples, and comparisons over examples. If a value has several seeds, also
// prints comparisons over seeds.
std::string SignificanceText(const ResultGrid& grid);

// Returns all comparisons as a JSON object. For exactly two runs, the object
// includes the data of RunComparisonText().
nlohmann::ordered_json ComparisonJson(absl::Span<const ComparedRun> runs);

}  // namespace regard

#endif  // EXPERIMENTS_COMPARISON_RUN_COMPARISON_H_
