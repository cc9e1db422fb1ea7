#include "experiments/report/terminal_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr int kWidestWord = 12;
constexpr absl::string_view kUnicodeShades[] = {" ", "░", "▒", "▓", "█"};
constexpr absl::string_view kAsciiShades[] = {" ", ".", ":", "*", "#"};

// Returns the character for a weight. The index of its shade is the number of
// values in kCuts that do not exceed the weight. The lightest shade is blank,
// so that a row of equal small weights does not seem to prefer a column.
absl::string_view Shade(double weight, bool unicode) {
  constexpr double kCuts[] = {0.1, 0.3, 0.5, 0.8};
  int shade = 0;
  for (const double cut : kCuts) shade += weight >= cut ? 1 : 0;
  return unicode ? kUnicodeShades[shade] : kAsciiShades[shade];
}

std::string Repeat(absl::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) absl::StrAppend(&repeated, text);
  return repeated;
}

std::string Padding(absl::string_view text, int width) {
  return Repeat(" ", width - DisplayWidth(text));
}

void AppendLine(std::string line, std::string* text) {
  line.erase(line.find_last_not_of(' ') + 1);
  absl::StrAppend(text, line, "\n");
}

// Returns the words, made printable and truncated to `width` columns.
std::vector<std::string> Cut(const std::vector<std::string>& words, int width,
                             absl::string_view ellipsis) {
  std::vector<std::string> cut;
  for (const std::string& word : words) {
    cut.push_back(CutToWidth(PrintableText(word), width, ellipsis));
  }
  return cut;
}

// Returns the total width of the columns, with words truncated to `cap` and one
// space around each column.
int TotalWidth(const std::vector<int>& widths, int cap) {
  int total = 1;
  for (const int width : widths) total += std::min(width, cap) + 1;
  return total;
}

std::vector<double> MeanOverHeads(const LabelledMatrix& map) {
  const size_t cells = map.rows.size() * map.columns.size();
  std::vector<double> mean(cells, 0.0);
  for (const std::vector<double>& head : map.heads) {
    REGARD_CHECK_EQ(head.size(), cells);
    for (size_t i = 0; i < cells; ++i) {
      mean[i] += head[i] / static_cast<double>(map.heads.size());
    }
  }
  return mean;
}

// If a weight is negative, divides the absolute values of all weights by the
// largest one, which is returned. If not, returns 0 and changes nothing.
double ScaleSigned(std::vector<double>& weights) {
  const auto is_negative = [](double w) { return w < 0; };
  if (std::ranges::none_of(weights, is_negative)) return 0;
  double largest = 0;
  for (const double w : weights) largest = std::max(largest, std::abs(w));
  for (double& w : weights) w = std::abs(w) / largest;
  return largest;
}

// Returns the characters between the cells of one row, such as the brackets of
// gold cells. Character c is to the left of column c.
std::string Gaps(const LabelledMatrix& map, int row, int columns) {
  std::string gaps(columns + 1, ' ');
  for (const CellRectangle& cell : map.gold) {
    if (cell.row != row || cell.column >= columns) continue;
    char& left = gaps[cell.column];
    left = left == ' ' ? '[' : '|';
    char& right = gaps[cell.column + 1];
    right = right == ' ' ? ']' : '|';
  }
  return gaps;
}

bool TakesUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = absl::AsciiStrToLower(value);
    return absl::StrContains(locale, "utf-8") ||
           absl::StrContains(locale, "utf8");
  }
  return false;
}

}  // namespace

int TerminalWidth(int descriptor) {
  constexpr int kUsualWidth = 80;
  winsize size{};
  const bool known =
      ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

AlignmentTextStyle TerminalStyle() {
  return {.width = TerminalWidth(STDOUT_FILENO), .unicode = TakesUnicode()};
}

std::string AlignmentText(const LabelledMatrix& map,
                          const AlignmentTextStyle& style) {
  const absl::string_view ellipsis = style.unicode ? "…" : "~";
  std::vector<double> weights = MeanOverHeads(map);
  const double largest = ScaleSigned(weights);
  const std::vector<std::string> rows =
      Cut(map.rows, std::max(style.width / 4, kWidestWord), ellipsis);
  const std::vector<std::string> words =
      Cut(map.columns, kWidestWord, ellipsis);
  int label_width = 0;
  for (const std::string& row : rows) {
    label_width = std::max(label_width, DisplayWidth(row));
  }

  // Truncates the longest words until everything fits, then omits columns.
  std::vector<int> widths;
  for (const std::string& word : words) {
    widths.push_back(std::max(DisplayWidth(word), 1));
  }
  const int available = style.width - label_width;
  int cap = kWidestWord;
  while (cap > 1 && TotalWidth(widths, cap) > available) --cap;
  for (int& width : widths) width = std::min(width, cap);
  while (widths.size() > 1 && TotalWidth(widths, cap) > available) {
    widths.pop_back();
  }
  const int columns = static_cast<int>(widths.size());

  std::string text;
  std::string line = Repeat(" ", label_width);
  for (int c = 0; c < columns; ++c) {
    const std::string word = CutToWidth(words[c], widths[c], ellipsis);
    absl::StrAppend(&line, " ", word, Padding(word, widths[c]));
  }
  AppendLine(line, &text);
  for (int r = 0; r < static_cast<int>(rows.size()); ++r) {
    line = absl::StrCat(Padding(rows[r], label_width), rows[r]);
    const std::string gaps = Gaps(map, r, columns);
    for (int c = 0; c < columns; ++c) {
      const double weight = weights[r * words.size() + c];
      line += gaps[c];
      absl::StrAppend(&line, Repeat(Shade(weight, style.unicode), widths[c]));
    }
    line += gaps[columns];
    AppendLine(line, &text);
  }
  if (columns < static_cast<int>(words.size())) {
    absl::StrAppend(&text, "(", words.size() - columns,
                    " more columns do not fit)\n");
  }
  if (largest > 0) {
    absl::StrAppendFormat(&text,
                          "(some weights are negative: shades show magnitudes "
                          "as fractions of the largest, %.3g)\n",
                          largest);
  }
  return text;
}

std::string TableText(const Table& table, int most_columns,
                      absl::string_view indent) {
  std::vector<std::vector<std::string>> rows = table.rows;
  if (!table.header.empty()) rows.insert(rows.begin(), table.header);
  std::vector<int> widths;
  for (std::vector<std::string>& row : rows) {
    row = Cut(row, most_columns, "~");
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line(indent);
    for (size_t c = 0; c < row.size(); ++c) {
      absl::StrAppend(&line, row[c], Padding(row[c], widths[c] + 2));
    }
    AppendLine(line, &text);
  }
  return text;
}

}  // namespace regard
