#include "experiments/run_report.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "experiments/report/html_report.h"
#include "experiments/report/metric_description.h"

namespace regard {

namespace {

// Curves of one number over the steps: "loss" of train and dev together.
Plot CurvesOf(absl::Span<const MetricsRecord> records, absl::string_view number,
              bool logarithmic) {
  Plot plot;
  plot.title = std::string(number);
  plot.x_label = "step";
  plot.y_label = std::string(number);
  plot.logarithmic_y = logarithmic;
  for (const char* split : {"train", "dev"}) {
    Series series;
    series.name = absl::StrCat(split, "/", number);
    for (const MetricsRecord& record : records) {
      const auto value = record.metrics.find(series.name);
      if (value == record.metrics.end()) continue;
      series.xs.push_back(static_cast<double>(record.step));
      series.ys.push_back(value->second);
    }
    if (series.xs.size() > 1) plot.series.push_back(std::move(series));
  }
  return plot;
}

std::vector<Plot> TrainingCurves(absl::Span<const MetricsRecord> records) {
  std::vector<Plot> plots;
  for (const auto& [number, logarithmic] :
       {std::pair<const char*, bool>{"loss", true},
        {"mse", true},
        {"exact_match", false},
        {"token_accuracy", false},
        {"bleu", false},
        {"alignment_error_rate", false},
        {"learning_rate", false},
        {"gradient_norm", true}}) {
    Plot plot = CurvesOf(records, number, logarithmic);
    if (!plot.series.empty()) plots.push_back(std::move(plot));
  }
  return plots;
}

// Test metrics first: they are what the run was for. Each with what to compare
// it with.
std::vector<Metric> OrderedMetrics(const RunReport& report) {
  std::vector<Metric> metrics;
  for (const char* prefix : {"test/", "dev/", "train/"}) {
    for (const auto& [name, value] : report.metrics) {
      if (!absl::StartsWith(name, prefix)) continue;
      std::vector<std::string> notes;
      const auto baseline = report.baseline_metrics.find(name);
      if (baseline != report.baseline_metrics.end()) {
        notes.push_back(absl::StrCat(report.baseline_name, ": ",
                                     FormatMetric(baseline->second)));
      }
      const auto note = report.showcase.notes.find(name);
      if (note != report.showcase.notes.end()) notes.push_back(note->second);
      metrics.push_back(
          {.name = name, .value = value, .note = absl::StrJoin(notes, "; ")});
    }
  }
  return metrics;
}

}  // namespace

std::string RunReportHtml(const RunReport& report) {
  HtmlReport page(report.name, report.showcase.summary);
  page.AddMetrics(OrderedMetrics(report));
  if (!report.showcase.plots.empty()) {
    page.AddPlots("Result", report.showcase.plots);
  }
  if (!report.showcase.samples.empty()) {
    page.AddSamples("Translations", report.showcase.samples);
  }
  if (!report.explanations.empty()) {
    page.AddExplanations("Attention", report.explanations);
  } else if (!report.showcase.heat_maps.empty()) {
    page.AddHeatMaps("Attention", report.showcase.heat_maps);
  }
  const std::vector<Plot> curves = TrainingCurves(report.records);
  if (!curves.empty()) page.AddPlots("Training", curves);
  page.AddConfig("Config", report.resolved_config);
  return page.Build();
}

EndOfRun RunReportText(const RunReport& report, const std::string& run_path,
                       const std::string& report_path) {
  EndOfRun end;
  end.metrics = OrderedMetrics(report);
  end.samples = report.showcase.samples;
  if (end.samples.size() > 5) end.samples.resize(5);
  if (!report.showcase.samples.empty() && !report.showcase.heat_maps.empty()) {
    end.alignment = report.showcase.heat_maps[0];
  }
  end.run_path = run_path;
  end.report_path = report_path;
  return end;
}

}  // namespace regard
