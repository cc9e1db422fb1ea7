// What is drawn with characters: tables, and alignments, target words down,
// source words across, a darker shade for a larger weight.
#ifndef EXPERIMENTS_REPORT_TERMINAL_TEXT_H_
#define EXPERIMENTS_REPORT_TERMINAL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"
#include "files/printable_text.h"

namespace regard {

struct AlignmentTextStyle {
  int width = 80;       // columns of the terminal
  bool unicode = true;  // block shades; otherwise . : * #
};

// The columns of the terminal that a file descriptor is of, or 80.
int TerminalWidth(int descriptor);

// That of standard output: its width, and block shades if the environment's
// character set (LC_ALL, LC_CTYPE, LANG, in this order) has them.
AlignmentTextStyle TerminalStyle();

// The mean over heads, weights from 0 to 1, one line per row and one above them
// for the columns; gold cells stand in [brackets]. Words are cut so that lines
// fit; columns that do not fit even so are left out, and a last line says how
// many. If a mean is below 0, shades show magnitudes as fractions of the
// largest, which another line says. Every line ends with a newline. CHECK-fails
// when a head's size is not rows x columns.
std::string AlignmentText(const LabelledMatrix& map,
                          const AlignmentTextStyle& style);

// The header, if there is one, and the rows, a line each, in columns that are
// two spaces apart. Cells are cut to `most_columns` columns of the terminal.
// Every line begins with `indent` and ends with a newline.
std::string TableText(const Table& table, int most_columns,
                      absl::string_view indent = "");

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_TERMINAL_TEXT_H_
