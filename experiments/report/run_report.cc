#include "experiments/report/run_report.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/report/examples_report.h"
#include "experiments/report/inspection_report.h"
#include "experiments/report/report.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "files/printable_text.h"
#include "optimization/evaluated_set.h"

namespace regard {

namespace {

constexpr size_t kMaxTextSamples = 5;
constexpr int kMaxCards = 6;

// The prefixes of metrics, in the order of the report. Test splits, including
// named ones ("test.news"), come first, because they are the main result.
constexpr absl::string_view kSplits[] = {"test/", "test.", "dev/", "train/"};

// Returns the curves of one metric over the steps, such as the curves of "loss"
// on train and dev.
Plot PlotOf(const MetricCurves& curves, const MetricInfo& metric) {
  Plot plot;
  plot.title = metric.name;
  plot.x_label = "step";
  plot.y_label = metric.unit.empty() ? metric.name : metric.unit;
  plot.logarithmic_y = metric.logarithmic;
  for (const char* split : {"train", "dev"}) {
    Series series;
    series.name = absl::StrCat(split, "/", metric.name);
    const auto curve = curves.find(series.name);
    if (curve == curves.end() || curve->second.size() < 2) continue;
    for (const auto& [step, value] : curve->second) {
      series.xs.push_back(static_cast<double>(step));
      series.ys.push_back(value);
    }
    plot.series.push_back(std::move(series));
  }
  return plot;
}

// Returns the metrics with their comparisons, ordered by split.
std::vector<ShownMetric> OrderedMetrics(const ReportedRun& report) {
  std::vector<ShownMetric> metrics;
  for (const absl::string_view split : kSplits) {
    for (const auto& [name, value] : report.metrics) {
      if (!absl::StartsWith(name, split)) continue;
      std::vector<std::string> notes;
      const auto interval = report.confidence.find(name);
      if (interval != report.confidence.end()) {
        notes.push_back(
            absl::StrCat("95 %: ", ConfidenceText(interval->second)));
      }
      const auto baseline = report.baseline_metrics.find(name);
      if (baseline != report.baseline_metrics.end()) {
        notes.push_back(absl::StrCat(report.baseline_name, ": ",
                                     FormatMetric(baseline->second)));
      }
      const auto note = report.showcase.notes.find(name);
      if (note != report.showcase.notes.end()) notes.push_back(note->second);
      const MetricInfo* info = FindMetric(report.metric_infos, name);
      metrics.push_back(
          {.name = name,
           .value = value,
           .note = absl::StrJoin(notes, "; "),
           .meaning = info == nullptr ? "" : MetricDescription(*info)});
    }
  }
  return metrics;
}

// Moves the metrics that the first screen shows to the front, and returns their
// number. The first screen shows all metrics if there are few. If not, it shows
// metrics of the first split, in the order of their declaration.
std::ptrdiff_t MoveForemostFirst(const ReportedRun& report,
                                 std::vector<ShownMetric>& metrics) {
  if (std::ssize(metrics) <= kMaxCards) return std::ssize(metrics);
  const std::string& first = metrics.front().name;
  const std::string split = first.substr(0, first.find('/') + 1);
  auto end = metrics.begin();
  for (const MetricInfo& info : report.metric_infos) {
    if (end - metrics.begin() == kMaxCards) break;
    const auto found =
        std::find_if(end, metrics.end(), [&](const ShownMetric& metric) {
          return metric.name == absl::StrCat(split, info.name);
        });
    if (found == metrics.end()) continue;
    std::rotate(end, found, found + 1);
    ++end;
  }
  return end - metrics.begin();
}

// Returns the set, and the set of the baseline if it has the same examples.
std::vector<EvaluatedSetOfRun> SetsLike(const EvaluatedSet& set,
                                        const ReportedRun& report) {
  std::vector<EvaluatedSetOfRun> runs = {{report.name, &set}};
  for (const EvaluatedSet& baseline : report.baseline_sets) {
    if (HaveSameExamples(set, baseline)) {
      runs.push_back({report.baseline_name, &baseline});
      break;
    }
  }
  return runs;
}

Table SamplesTable(const Samples& samples) {
  const bool any_reference = std::ranges::any_of(
      samples.rows,
      [](const ExampleTexts& sample) { return !sample.reference.empty(); });
  Table table = {.header = {samples.input, "model"}};
  if (any_reference) table.header.insert(table.header.end(), {"reference", ""});
  for (const ExampleTexts& sample : samples.rows) {
    std::vector<std::string> row = {sample.input, sample.output};
    if (any_reference) {
      row.push_back(sample.reference);
      row.push_back(sample.reference.empty()            ? ""
                    : sample.output == sample.reference ? kVerdictSame
                                                        : kVerdictDiffers);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

void AddSets(const ReportedRun& report, Report& page) {
  std::vector<Block> plots;
  std::vector<Section> tables;
  for (const EvaluatedSet& set : report.sets) {
    const MetricByLengthFigure lengths =
        MeasureByLength(SetsLike(set, report), report.seed);
    if (lengths.table.rows.empty()) continue;
    plots.push_back(lengths.plot);
    tables.push_back({lengths.plot.title, {lengths.table}});
  }
  page.Add({"By length", std::move(plots)});
  for (Section& table : tables) page.Add(std::move(table));
  for (const EvaluatedSet& set : report.sets) {
    const Table table = WorstAndBest(set, report.metric_infos);
    if (table.rows.empty()) continue;
    page.Add({absl::StrCat("Worst and best by ", table.header[1]), {table}});
  }
}

constexpr int kNarrowestText = 24;  // width of the text next to a metric

// Wraps `text` into lines of at most `width` columns. A longer word has its own
// line.
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

// Appends the name and the value of each metric, with its meaning and note next
// to it.
void AppendMetrics(const std::vector<ShownMetric>& metrics, int width,
                   std::string* text) {
  size_t value_width = 0;
  for (const ShownMetric& metric : metrics) {
    value_width = std::max(value_width, FormatMetric(metric.value).size());
  }
  Table table;
  for (const ShownMetric& metric : metrics) {
    table.rows.push_back(
        {metric.name,
         absl::StrFormat("%*s", value_width, FormatMetric(metric.value))});
  }
  const std::vector<std::string> starts = absl::StrSplit(
      TableText(table, std::numeric_limits<int>::max(), "  "), '\n');
  // All elements of `starts` have the same width, because values are padded.
  const int indent = DisplayWidth(starts[0]) + 2;
  const int rest = std::max(width - indent, kNarrowestText);
  for (size_t i = 0; i < metrics.size(); ++i) {
    std::vector<std::string> beside =
        Wrapped(PrintableText(metrics[i].meaning), rest);
    for (std::string& line : Wrapped(PrintableText(metrics[i].note), rest)) {
      beside.push_back(std::move(line));
    }
    absl::StrAppend(text, starts[i], beside.empty() ? "" : "  ",
                    absl::StrJoin(beside, "\n" + std::string(indent, ' ')),
                    "\n");
  }
}

void AppendSamples(const Samples& samples, std::string* text) {
  for (size_t i = 0; i < samples.rows.size() && i < kMaxTextSamples; ++i) {
    const ExampleTexts& sample = samples.rows[i];
    absl::StrAppend(text, "  ", PrintableText(sample.input), "\n");
    absl::StrAppend(text, "    model      ", PrintableText(sample.output),
                    "\n");
    if (!sample.reference.empty() && sample.output != sample.reference) {
      absl::StrAppend(text, "    reference  ", PrintableText(sample.reference),
                      "\n");
    }
  }
}

}  // namespace

std::string RunReportHtml(const ReportedRun& report) {
  std::vector<ShownMetric> metrics = OrderedMetrics(report);
  const std::ptrdiff_t cards = MoveForemostFirst(report, metrics);
  // Adds the sections in reading order.
  const Showcase& showcase = report.showcase;
  Report page = {.title = report.name,
                 .summary = showcase.summary,
                 .metrics = {metrics.begin(), metrics.begin() + cards}};
  if (!showcase.heat_maps.empty()) page.first_maps = {showcase.heat_maps[0]};
  page.Add({"Result", {showcase.plots.begin(), showcase.plots.end()}});
  page.Add({showcase.samples.title, {SamplesTable(showcase.samples)}});
  for (const Section& section : showcase.sections) page.Add(section);
  if (!showcase.inspections.empty()) {
    page.Add(AttentionSection(showcase.inspections));
  }
  if (showcase.heat_maps_on_page) {
    page.Add({"Attention", {AttentionCaution(), Maps{showcase.heat_maps}}});
  }
  AddSets(report, page);
  Section training = {"Training"};
  const MetricCurves curves = CurvesOf(report.records);
  for (const MetricInfo& metric : report.metric_infos) {
    Plot plot = PlotOf(curves, metric);
    if (!plot.series.empty()) training.blocks.push_back(std::move(plot));
  }
  page.Add(std::move(training));
  Table numbers = {.header = {"metric", "value", "", ""}};
  metrics.erase(metrics.begin(), metrics.begin() + cards);
  for (const ShownMetric& metric : metrics) {
    numbers.rows.push_back(
        {metric.name, FormatMetric(metric.value), metric.note, metric.meaning});
  }
  page.Add({"Other metrics", {numbers}});
  page.Add({"Notes", {report.notes.begin(), report.notes.end()}});
  page.Add({"Config", {CollapsibleBlock{"Show", report.resolved_config}}});
  return ReportHtml(page);
}

std::string RunReportText(const ReportedRun& report,
                          const AlignmentTextStyle& style) {
  const Showcase& showcase = report.showcase;
  std::string text;
  // Separates parts by blank lines.
  const auto begin_part = [&text](absl::string_view title) {
    if (!text.empty()) absl::StrAppend(&text, "\n");
    if (!title.empty()) absl::StrAppend(&text, PrintableText(title), "\n");
  };
  const std::vector<ShownMetric> metrics = OrderedMetrics(report);
  if (!metrics.empty()) {
    begin_part("Final metrics");
    AppendMetrics(metrics, style.width, &text);
  }
  if (!showcase.samples.rows.empty()) {
    begin_part(showcase.samples.title);
    AppendSamples(showcase.samples, &text);
  }
  if (!showcase.heat_maps.empty() && !showcase.heat_map_caption.empty()) {
    begin_part(showcase.heat_map_caption);
    absl::StrAppend(&text, AlignmentText(showcase.heat_maps[0], style));
  }
  if (!report.run_path.empty() || !report.report_path.empty()) begin_part("");
  if (!report.run_path.empty()) {
    absl::StrAppend(&text, "Run     ", PrintableText(report.run_path), "\n");
  }
  if (!report.report_path.empty()) {
    absl::StrAppend(&text, "Report  ", PrintableText(report.report_path), "\n");
  }
  return text;
}

}  // namespace regard
