#include "experiments/sweep/sweep_table.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "files/printable_text.h"

namespace regard {
namespace {

constexpr int kMaxCellColumns = 40;
constexpr int kDefaultHeight = 24;

int TerminalHeight() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) {
    return kDefaultHeight;
  }
  return size.ws_row;
}

}  // namespace

std::string SweepTableText(const SweepTable& table, int width, int height) {
  // Leaves space for the header, the summary, the line with the number of
  // omitted arms, and the cursor.
  const size_t most = std::max(height - 4, 1);
  const size_t shown = std::min(table.arms.size(), most);
  Table text = {.header = {"arm"}};
  for (const std::string& seed : table.seeds) {
    text.header.push_back(absl::StrCat("seed ", seed));
  }
  for (size_t arm = 0; arm < shown; ++arm) {
    std::vector<std::string>& row = text.rows.emplace_back();
    row.push_back(PrintableText(table.arms[arm]));
    for (const std::string& cell : table.cells[arm]) row.push_back(cell);
  }
  std::string lines = TableText(text, kMaxCellColumns);
  if (shown < table.arms.size()) {
    absl::StrAppend(&lines, "and ", table.arms.size() - shown, " more arms\n");
  }
  absl::StrAppend(&lines, table.summary, "\n");
  std::string cut;
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    // Truncates the line after `width` bytes. If all labels are ASCII, each
    // byte takes one column.
    absl::StrAppend(&cut, line.substr(0, static_cast<size_t>(width)), "\n");
  }
  cut.pop_back();
  return cut;
}

void LiveTable::Erase() {
  if (lines_ > 0) output_.write(absl::StrCat("\x1b[", lines_, "A\x1b[J"));
  lines_ = 0;
}

void LiveTable::Draw(const SweepTable& table) {
  const int width = output_.width();
  if (width <= 0) return;
  const std::string text = SweepTableText(table, width, TerminalHeight());
  Erase();
  output_.write(text);
  lines_ = static_cast<int>(std::ranges::count(text, '\n'));
}

void LiveTable::Message(absl::string_view text) {
  Erase();
  output_.write(absl::StrCat(PrintableText(text), "\n"));
}

}  // namespace regard
