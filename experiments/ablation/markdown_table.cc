#include "experiments/ablation/markdown_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace regard {
namespace {

std::string Row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells) {
    absl::StrAppend(&row, " ",
                    absl::StrReplaceAll(cell, {{"|", "\\|"}, {"\n", " "}}),
                    " |");
  }
  return absl::StrCat(row, "\n");
}

}  // namespace

std::string MarkdownTable(const Table& table) {
  std::string text = Row(table.header);
  text += Row(std::vector<std::string>(table.header.size(), "---"));
  for (const std::vector<std::string>& row : table.rows) text += Row(row);
  return text;
}

}  // namespace regard
