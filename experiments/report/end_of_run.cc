#include "experiments/report/end_of_run.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/report/metric_description.h"
#include "experiments/report/printable_text.h"

namespace regard {
namespace {

constexpr int kNarrowestText = 24;  // beside a metric

std::string Padded(absl::string_view text, int width) {
  const int missing = std::max(width - DisplayWidth(text), 0);
  return absl::StrCat(text, std::string(missing, ' '));
}

// `text` in lines of at most `width` columns where its words allow.
std::vector<std::string> Wrapped(absl::string_view text, int width) {
  std::vector<std::string> lines;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    if (lines.empty() ||
        DisplayWidth(lines.back()) + 1 + DisplayWidth(word) > width) {
      lines.emplace_back(word);
    } else {
      absl::StrAppend(&lines.back(), " ", word);
    }
  }
  return lines;
}

// Name, value, and beside them what the metric means and its note.
void AppendMetrics(const std::vector<Metric>& metrics, int width,
                   std::string* text) {
  int name_width = 0;
  int value_width = 0;
  for (const Metric& metric : metrics) {
    name_width = std::max(name_width, DisplayWidth(PrintableText(metric.name)));
    value_width =
        std::max(value_width, DisplayWidth(FormatMetric(metric.value)));
  }
  for (const Metric& metric : metrics) {
    const std::string value = FormatMetric(metric.value);
    const std::string start = absl::StrCat(
        "  ", Padded(PrintableText(metric.name), name_width), "  ",
        std::string(value_width - DisplayWidth(value), ' '), value);
    const int indent = DisplayWidth(start) + 2;
    const int rest = std::max(width - indent, kNarrowestText);
    std::vector<std::string> beside =
        Wrapped(MetricDescription(metric.name), rest);
    for (std::string& line : Wrapped(PrintableText(metric.note), rest)) {
      beside.push_back(std::move(line));
    }
    absl::StrAppend(text, start);
    for (size_t line = 0; line < beside.size(); ++line) {
      absl::StrAppend(text, line == 0 ? "  " : std::string(indent, ' '),
                      beside[line], line + 1 < beside.size() ? "\n" : "");
    }
    absl::StrAppend(text, "\n");
  }
}

void AppendSamples(const std::vector<TranslationSample>& samples,
                   std::string* text) {
  for (const TranslationSample& sample : samples) {
    absl::StrAppend(text, "  ", PrintableText(sample.source), "\n");
    absl::StrAppend(text, "    model      ", PrintableText(sample.hypothesis),
                    "\n");
    if (!sample.reference.empty() && !sample.correct) {
      absl::StrAppend(text, "    reference  ", PrintableText(sample.reference),
                      "\n");
    }
  }
}

}  // namespace

std::string EndOfRunText(const EndOfRun& run, const AlignmentTextStyle& style) {
  std::string text;
  // A blank line between parts, none before the first.
  const auto begin_part = [&text](absl::string_view title) {
    if (!text.empty()) absl::StrAppend(&text, "\n");
    if (!title.empty()) absl::StrAppend(&text, title, "\n");
  };
  if (!run.metrics.empty()) {
    begin_part("Final numbers");
    AppendMetrics(run.metrics, style.width, &text);
  }
  if (!run.samples.empty()) {
    begin_part("Translations");
    AppendSamples(run.samples, &text);
  }
  if (run.alignment.has_value()) {
    begin_part("Attention: each word on the left looks at the words above");
    absl::StrAppend(&text, AlignmentText(*run.alignment, style));
  }
  if (!run.run_path.empty() || !run.report_path.empty()) begin_part("");
  if (!run.run_path.empty()) {
    absl::StrAppend(&text, "Run     ", PrintableText(run.run_path), "\n");
  }
  if (!run.report_path.empty()) {
    absl::StrAppend(&text, "Report  ", PrintableText(run.report_path), "\n");
  }
  return text;
}

}  // namespace regard
