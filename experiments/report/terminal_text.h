// Text of unknown origin made safe to show, on a terminal and in a page; and
// what is drawn with characters: tables, and alignments, target words down,
// source words across, a darker shade for a larger weight.
#ifndef EXPERIMENTS_REPORT_TERMINAL_TEXT_H_
#define EXPERIMENTS_REPORT_TERMINAL_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "experiments/report/run_results.h"

namespace regard {

// `text` without what a terminal would obey or a reader would not see: control
// characters (newline and tab become spaces) and marks that turn the direction
// of writing. Bytes that are not UTF-8 become U+FFFD.
std::string PrintableText(absl::string_view text);

// `text` as the content of an element or of a quoted attribute, cleaned
// likewise; newlines and tabs stay.
std::string EscapeHtml(absl::string_view text);

// Columns that `text`, printable, takes on a terminal: 2 for a wide character,
// 0 for a combining one.
int DisplayWidth(absl::string_view text);

// `text`, printable, cut to at most `width` columns, the last one an ellipsis
// where something was cut; `width` >= 1. `ellipsis` takes one column.
std::string CutToWidth(absl::string_view text, int width,
                       absl::string_view ellipsis);

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
// fit; columns that do not fit even so are left out, and the last line says how
// many. Every line ends with a newline. CHECK-fails when a head's size is not
// rows x columns.
std::string AlignmentText(const LabelledMatrix& map,
                          const AlignmentTextStyle& style);

// The header, if there is one, and the rows, a line each, in columns that are
// two spaces apart. Cells are cut to `most_columns` columns of the terminal.
// Every line begins with `indent` and ends with a newline.
std::string TableText(const Table& table, int most_columns,
                      absl::string_view indent = "");

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_TERMINAL_TEXT_H_
