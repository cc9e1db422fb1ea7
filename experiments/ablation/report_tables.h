// The tables and sentences of an ablation's report, for every format that it is
// written in.
#ifndef EXPERIMENTS_ABLATION_REPORT_TABLES_H_
#define EXPERIMENTS_ABLATION_REPORT_TABLES_H_

#include <string>
#include <vector>

#include "experiments/ablation/comparison.h"
#include "experiments/ablation/grid.h"
#include "experiments/report/run_results.h"

namespace regard {

// "12 cells, 5 seeds each; 2 of 60 runs are missing."
std::string GridSummary(const Grid& grid);

// A row for each cell: its values, how many runs of how many, and mean and
// standard deviation of each metric. "missing" where no run has the metric.
Table ResultsTable(const Grid& grid);

// A row for each run without results: its name, seed and why.
Table MissingTable(const Grid& grid);

// A row for each comparison: the difference, p-values and the verdict.
Table ComparisonsTable(const Grid& grid,
                       const std::vector<Comparison>& comparisons);

// The same over examples: a row for each comparison that has them; may have
// none.
Table ExamplesTable(const Grid& grid,
                    const std::vector<Comparison>& comparisons);

// How comparisons over examples were made; empty where there are none.
std::vector<std::string> ExamplesNotes(
    const std::vector<Comparison>& comparisons);

// How the comparisons were made, and what so few pairs cannot show.
std::vector<std::string> ComparisonNotes(
    const std::vector<Comparison>& comparisons);

// A row for each axis value whose label is not its one override: what the
// label sets.
Table LabelsTable(const Grid& grid);

// A row for each run: coordinates, seed, state and every metric in full; cells
// without a number are empty.
Table RunsTable(const Grid& grid);

// For each metric that changed over time, the mean of each cell's finished runs
// with a band of one standard deviation, at the steps that all of them
// measured.
std::vector<Plot> CurvePlots(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_REPORT_TABLES_H_
