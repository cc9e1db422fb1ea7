// The report of an ablation, which depends on the grid alone.
#ifndef EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
#define EXPERIMENTS_ABLATION_ABLATION_REPORT_H_

#include <string>
#include <vector>

#include "experiments/ablation/grid.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"

namespace regard {

// Without curves and maps in its Markdown.
Report AblationReport(const Grid& grid);

// One line for each run, RFC 4180.
std::string AblationCsv(const Grid& grid);

// What the cells of a grid attended to in the same source.

struct SharedSource {
  std::string source = {};  // the title that the maps have in their runs
  std::string seed = {};
  // Of each cell that has one, called like the cell.
  std::vector<LabelledMatrix> maps = {};
  // Cells that have none, and those beyond what a page can hold.
  std::vector<std::string> without = {};
  std::vector<std::string> left_out = {};
};

// Up to two sources that at least two cells show, those of most cells first.
// All runs are of one seed, the first that has any: seeds may have data of
// their own.
std::vector<SharedSource> AttentionSideBySide(const Grid& grid);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_ABLATION_REPORT_H_
