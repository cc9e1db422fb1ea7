#include "experiments/report/table_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "experiments/report/printable_text.h"

namespace regard {

std::string TableText(const Table& table, int most_columns,
                      absl::string_view indent) {
  std::vector<std::vector<std::string>> rows = table.rows;
  if (!table.header.empty()) rows.insert(rows.begin(), table.header);
  std::vector<int> widths;
  for (std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = CutToWidth(PrintableText(row[c]), most_columns, "~");
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line(indent);
    for (size_t c = 0; c < row.size(); ++c) {
      const int spaces = widths[c] - DisplayWidth(row[c]);
      absl::StrAppend(&line, row[c],
                      std::string(static_cast<size_t>(spaces) + 2, ' '));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

}  // namespace regard
