// Text for terminals: tables, and alignments as shaded characters. Rows of an
// alignment are target words and columns are source words. Larger weights are
// darker.
#ifndef EXPERIMENTS_REPORT_TERMINAL_TEXT_H_
#define EXPERIMENTS_REPORT_TERMINAL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"
#include "files/printable_text.h"

namespace regard {

struct AlignmentTextStyle {
  int width = 80;       // columns of the terminal
  bool unicode = true;  // block shades instead of . : * #
};

// Returns the number of columns of the terminal of a file descriptor, or 80 if
// it is not a terminal.
int TerminalWidth(int descriptor);

// Returns the style for standard output. Uses block shades if the character set
// of the environment (LC_ALL, LC_CTYPE, LANG, in this order) has them.
AlignmentTextStyle TerminalStyle();

// Draws the mean over heads, with weights from 0 to 1. The first line shows the
// columns, and each row has one line. Gold cells are in [brackets]. Words are
// truncated so that lines fit. If columns still do not fit, some are omitted,
// and the last line states how many. If a mean is negative, shades show
// absolute values as fractions of the largest one, which another line states.
// Every line ends with a newline. CHECK-fails if the size of a head is not rows
// x columns.
std::string AlignmentText(const LabelledMatrix& map,
                          const AlignmentTextStyle& style);

// Returns the header, if there is one, and the rows, one per line. Two spaces
// separate the columns. Cells are truncated to `most_columns` columns of the
// terminal. Every line begins with `indent` and ends with a newline.
std::string TableText(const Table& table, int most_columns,
                      absl::string_view indent = "");

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_TERMINAL_TEXT_H_
