// Draws a table with characters.
#ifndef EXPERIMENTS_REPORT_TABLE_TEXT_H_
#define EXPERIMENTS_REPORT_TABLE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"

namespace regard {

// The header, if there is one, and the rows, a line each, in columns that are
// two spaces apart. Cells are cut to `most_columns` columns of the terminal.
// Every line begins with `indent` and ends with a newline.
std::string TableText(const Table& table, int most_columns,
                      absl::string_view indent = "");

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_TABLE_TEXT_H_
