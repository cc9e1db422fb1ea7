#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/inspection.h"
#include "experiments/report/html_report.h"
#include "experiments/report/printable_text.h"
#include "experiments/report/run_results.h"

namespace regard {

namespace {

LabelledMatrix MatrixOf(const Inspection& inspection, const char* title,
                        std::vector<double> InspectedStep::*numbers) {
  LabelledMatrix matrix;
  matrix.title = title;
  matrix.rows = inspection.target;
  matrix.columns = inspection.source;
  matrix.heads.emplace_back();
  for (const InspectedStep& step : inspection.steps) {
    const std::vector<double>& row = step.*numbers;
    matrix.heads[0].insert(matrix.heads[0].end(), row.begin(), row.end());
  }
  for (const AlignmentLink& link : inspection.gold) {
    matrix.gold.push_back({link.target, link.source});
  }
  return matrix;
}

std::string Named(const Inspection& inspection,
                  const std::vector<double>& numbers,
                  std::vector<double>::const_iterator chosen) {
  return absl::StrFormat("%s %.3f", inspection.source[chosen - numbers.begin()],
                         *chosen);
}

Table StepsTable(const Inspection& inspection) {
  Table table;
  table.header = {"word",          "log p",         "entropy",
                  "looks most at", "steepest gain", "steepest loss"};
  for (size_t u = 0; u < inspection.steps.size(); ++u) {
    const InspectedStep& step = inspection.steps[u];
    const auto& slopes = step.gradients;
    const auto [lowest, highest] =
        std::minmax_element(slopes.begin(), slopes.end());
    table.rows.push_back(
        {inspection.target[u], absl::StrFormat("%.3f", step.log_probability),
         absl::StrFormat("%.3f", step.entropy),
         Named(inspection, step.weights,
               std::max_element(step.weights.begin(), step.weights.end())),
         Named(inspection, slopes, highest),
         Named(inspection, slopes, lowest)});
  }
  return table;
}

double LogProbability(const Inspection& inspection) {
  double sum = 0;
  for (const InspectedStep& step : inspection.steps) {
    sum += step.log_probability;
  }
  return sum;
}

std::string ErrorRateSentence(const Inspection& inspection) {
  return inspection.alignment_error_rate.has_value()
             ? absl::StrFormat(
                   "alignment error rate %.3f against %d gold links",
                   *inspection.alignment_error_rate, inspection.gold.size())
             : "no gold alignment is known for this pair";
}

}  // namespace

std::string InspectionText(const Inspection& inspection,
                           const AlignmentTextStyle& style) {
  std::string text =
      AlignmentText(MatrixOf(inspection, "", &InspectedStep::weights), style);
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
      LogProbability(inspection), ErrorRateSentence(inspection));
  return text;
}

std::string InspectionHtml(const Inspection& inspection,
                           const std::string& name) {
  HtmlReport page(
      absl::StrCat(name, ": attention"),
      absl::StrCat(absl::StrJoin(inspection.source, " "), " \u2192 ",
                   absl::StrJoin(inspection.target, " ")));
  const LabelledMatrix maps[] = {
      MatrixOf(inspection, "weights of each step", &InspectedStep::weights),
      MatrixOf(inspection,
               "gradient of each word's log probability by the weights",
               &InspectedStep::gradients)};
  page.AddHeatMaps("Attention", maps);
  page.AddTable("Steps", StepsTable(inspection));
  page.AddText(
      "Reading this",
      {absl::StrFormat("Log probability of the whole: %.3f; %s.",
                       LogProbability(inspection),
                       ErrorRateSentence(inspection)),
       "The entropy of a step's weights is in nats: 0 when one word has all of "
       "the attention. A gradient above 0 says that more weight there, the "
       "others held, would have made the word likelier. Gold links are "
       "outlined."});
  return page.Build();
}

}  // namespace regard
