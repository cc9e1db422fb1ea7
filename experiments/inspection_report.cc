#include "experiments/inspection_report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/report/html_report.h"
#include "experiments/report/printable_text.h"
#include "experiments/report/run_results.h"

namespace regard {

std::string InspectionText(const Inspection& inspection,
                           const AlignmentTextStyle& style) {
  LabelledMatrix weights = WeightsMap(inspection);
  weights.title.clear();
  std::string text = AlignmentText(weights, style);
  const Table table = StepsTable(inspection);
  std::vector<int> widths(table.header.size(), 0);
  std::vector<std::vector<std::string>> rows = table.rows;
  rows.insert(rows.begin(), table.header);
  for (auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = CutToWidth(PrintableText(row[c]), /*width=*/20, "~");
      widths[c] = std::max(widths[c], DisplayWidth(row[c]));
    }
  }
  absl::StrAppend(&text, "\n");
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c) {
      const int spaces = widths[c] - DisplayWidth(row[c]);
      absl::StrAppend(&line, row[c],
                      std::string(static_cast<size_t>(spaces) + 2, ' '));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  }
  absl::StrAppendFormat(
      &text,
      "\nlog p of the whole %.3f; %s\n"
      "entropy in nats; gains and losses are d log p / d weight\n",
      LogProbability(inspection), ErrorRateText(inspection));
  return text;
}

std::string InspectionHtml(const Inspection& inspection,
                           const std::string& name) {
  HtmlReport page(
      absl::StrCat(name, ": attention"),
      absl::StrCat(absl::StrJoin(inspection.source, " "), " \u2192 ",
                   absl::StrJoin(inspection.target, " ")));
  const LabelledMatrix maps[] = {WeightsMap(inspection),
                                 GradientsMap(inspection)};
  page.AddHeatMaps("Attention", maps);
  page.AddTable("Steps", StepsTable(inspection));
  page.AddText(
      "Reading this",
      {absl::StrFormat("Log probability of the whole: %.3f; %s.",
                       LogProbability(inspection), ErrorRateText(inspection)),
       "The entropy of a step's weights is in nats: 0 when one word has all of "
       "the attention. A gradient above 0 says that more weight there, the "
       "others held, would have made the word likelier. Gold links are "
       "outlined."});
  return page.Build();
}

}  // namespace regard
