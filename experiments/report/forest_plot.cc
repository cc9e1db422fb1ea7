#include "experiments/report/forest_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "evaluation/statistics.h"
#include "files/printable_text.h"

namespace regard {
namespace {

// Positions and sizes in pixels.
constexpr double kWidth = 960;
constexpr double kDifferences = 506;
constexpr double kDifferencesEnd = 664;
constexpr double kVerdict = 678;
constexpr double kTop = 34;
constexpr double kRow = 44;
constexpr double kBottom = 30;
constexpr int kMaxTicks = 4;

// The widths of the columns of labels, values and means. They are larger in a
// plot without differences.
struct Columns {
  size_t label_characters;
  double values;
  double values_end;
  double mean;
};
constexpr Columns kBesideDifferences = {23, 176, 398, 412};
constexpr Columns kAlone = {52, 390, 790, 810};

// Maps a range of values to positions within a column, in pixels.
struct Scale {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double begin = 0;
  double end = 0;

  void Include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Adds a margin, so that the width of the range is not 0.
  void Widen() {
    if (!(low <= high)) low = high = 0;
    double margin = (high - low) * 0.06;
    if (margin == 0) margin = low == 0 ? 1 : std::abs(low) * 0.05;
    low -= margin;
    high += margin;
  }
  double At(double value) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
  // Returns the round numbers in the range, which the axis shows.
  std::vector<double> Ticks() const {
    const double rough = (high - low) / kMaxTicks;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {5.0, 2.0, 1.0}) {
      if (factor * power >= rough) step = factor * power;
    }
    std::vector<double> ticks;
    for (double k = std::ceil(low / step); k * step <= high; ++k) {
      ticks.push_back(k * step + 0.0);
    }
    return ticks;
  }
};

std::string Number(double pixels) { return absl::StrFormat("%.5g", pixels); }

std::string Line(absl::string_view kind, double x1, double y1, double x2,
                 double y2) {
  return absl::StrCat("<line class=\"", kind, "\" x1=\"", Number(x1),
                      "\" y1=\"", Number(y1), "\" x2=\"", Number(x2),
                      "\" y2=\"", Number(y2), "\"/>");
}

std::string Text(absl::string_view kind, double x, double y,
                 absl::string_view text) {
  return absl::StrCat("<text", kind.empty() ? "" : " class=\"", kind,
                      kind.empty() ? "" : "\"", " x=\"", Number(x), "\" y=\"",
                      Number(y), "\">", EscapeHtml(text), "</text>");
}

std::string Dot(absl::string_view kind, double x, double y, double radius,
                double value) {
  return absl::StrCat("<circle class=\"", kind, "\" cx=\"", Number(x),
                      "\" cy=\"", Number(y), "\" r=\"", Number(radius),
                      "\"><title>", FormatMetric(value), "</title></circle>");
}

// Returns the text of a number with its sign, such as "+0.25".
std::string Signed(double value) {
  return absl::StrCat(value > 0 ? "+" : "", FormatMetric(value));
}

bool HasInterval(const ForestRow& row) { return row.low != 0 || row.high != 0; }

// Returns a difference with its interval, such as "+0.25 [0.1, 0.4]".
std::string DifferenceText(const ForestRow& row) {
  const double mean = Summarize(row.differences).mean;
  if (!HasInterval(row)) return Signed(mean);
  return absl::StrCat(Signed(mean), " [", FormatMetric(row.low), ", ",
                      FormatMetric(row.high), "]");
}

absl::string_view ToneClass(const ForestRow& row) {
  return row.tone == ForestRow::Tone::kBetter  ? "yes"
         : row.tone == ForestRow::Tone::kWorse ? "no"
                                               : "even";
}

// Returns the first `most` characters, without splitting a UTF-8 sequence.
std::string ShortLabel(const std::string& label, size_t most) {
  size_t bytes = 0;
  size_t characters = 0;
  while (bytes < label.size() && characters < most) {
    ++bytes;
    while (bytes < label.size() && (label[bytes] & 0xc0) == 0x80) ++bytes;
    ++characters;
  }
  return bytes == label.size() ? label
                               : absl::StrCat(label.substr(0, bytes), "…");
}

std::string AxisTicks(const Scale& scale, double bottom) {
  std::string svg;
  for (const double tick : scale.Ticks()) {
    absl::StrAppend(
        &svg, Line("grid", scale.At(tick), kTop, scale.At(tick), bottom),
        Text("middle tick", scale.At(tick), bottom + 18, FormatMetric(tick)));
  }
  return svg;
}

std::string RowValues(const ForestRow& row, const Scale& scale, double mean_at,
                      double y) {
  std::string svg;
  const SampleSummary summary = Summarize(row.values);
  for (const double value : row.values) {
    if (!std::isfinite(value)) continue;
    absl::StrAppend(&svg, Dot("seed", scale.At(value), y, 4.5, value));
  }
  if (!std::isfinite(summary.mean)) {
    return absl::StrCat(
        svg, Text("", mean_at, y + 5, row.values.empty() ? "missing" : "nan"));
  }
  const double x = scale.At(summary.mean);
  absl::StrAppend(&svg, Line("mean", x, y - 11, x, y + 11));
  if (summary.n < 2) {
    return absl::StrCat(
        svg, Text("number", mean_at, y + 5, FormatMetric(summary.mean)));
  }
  return absl::StrCat(
      svg, Text("number", mean_at, y - 2, FormatMetric(summary.mean)),
      Text("tick", mean_at, y + 14,
           absl::StrFormat("sd %.2g", summary.standard_deviation)));
}

std::string RowDifferences(const ForestRow& row, const Scale& scale, double y) {
  std::string svg;
  const double mean = Summarize(row.differences).mean;
  const absl::string_view tone = ToneClass(row);
  for (const double difference : row.differences) {
    if (!std::isfinite(difference)) continue;
    absl::StrAppend(&svg,
                    Dot("pair", scale.At(difference), y + 11, 2, difference));
  }
  if (std::isfinite(mean)) {
    if (HasInterval(row)) {
      absl::StrAppend(&svg, Line(absl::StrCat("interval ", tone),
                                 scale.At(row.low), y, scale.At(row.high), y));
    }
    absl::StrAppend(
        &svg,
        Dot(absl::StrCat("difference ", tone), scale.At(mean), y, 5, mean),
        Text("number", kVerdict, y - 2, DifferenceText(row)));
  }
  return absl::StrCat(svg, Text(tone, kVerdict, y + 14, row.verdict));
}

}  // namespace

std::string ForestFigure(const ForestPlot& plot) {
  const bool compares = !plot.baseline.empty();
  const Columns& columns = compares ? kBesideDifferences : kAlone;
  Scale values = {.begin = columns.values, .end = columns.values_end};
  Scale differences = {.begin = kDifferences, .end = kDifferencesEnd};
  differences.Include(0);
  double baseline_mean = std::nan("");
  for (const ForestRow& row : plot.rows) {
    for (const double value : row.values) values.Include(value);
    for (const double difference : row.differences) {
      differences.Include(difference);
    }
    differences.Include(row.low);
    differences.Include(row.high);
    if (row.label == plot.baseline) {
      baseline_mean = Summarize(row.values).mean;
    }
  }
  values.Widen();
  differences.Widen();
  const double bottom = kTop + kRow * static_cast<double>(plot.rows.size());
  std::string svg = absl::StrCat(Text("head", columns.values, 16, plot.metric),
                                 AxisTicks(values, bottom));
  if (compares) {
    absl::StrAppend(
        &svg,
        Text("head", kDifferences, 16,
             absl::StrCat("difference from ",
                          ShortLabel(plot.baseline, columns.label_characters))),
        AxisTicks(differences, bottom),
        Line("zero", differences.At(0), kTop, differences.At(0), bottom));
    if (std::isfinite(baseline_mean)) {
      const double x = values.At(baseline_mean);
      svg += Line("zero", x, kTop, x, bottom);
    }
  }
  for (size_t i = 0; i < plot.rows.size(); ++i) {
    const ForestRow& row = plot.rows[i];
    const double y = kTop + kRow * (static_cast<double>(i) + 0.5);
    const bool is_baseline = compares && row.label == plot.baseline;
    absl::StrAppend(&svg, "<g><title>", EscapeHtml(row.label), "</title>",
                    Text("", 0, is_baseline ? y - 2 : y + 5,
                         ShortLabel(row.label, columns.label_characters)),
                    is_baseline ? Text("tick", 0, y + 14, "baseline") : "",
                    "</g>", RowValues(row, values, columns.mean, y));
    if (compares && !is_baseline) svg += RowDifferences(row, differences, y);
    svg += "\n";
  }
  return absl::StrCat(
      "<figure class=\"forest\"><figcaption>", EscapeHtml(plot.title),
      "</figcaption><div class=\"drawing\"><svg role=\"img\" aria-label=\"",
      EscapeHtml(plot.title), "\" viewBox=\"0 0 ", Number(kWidth), " ",
      Number(bottom + kBottom), "\" width=\"", Number(kWidth), "\">\n", svg,
      "</svg></div>", plot.legend.empty() ? "" : "<p class=\"legend\">",
      EscapeHtml(plot.legend), plot.legend.empty() ? "" : "</p>",
      "</figure>\n");
}

Table ForestTable(const ForestPlot& plot) {
  const bool compares = !plot.baseline.empty();
  Table table = {{"arm", "seeds", plot.metric}};
  if (compares) {
    table.header.push_back(
        absl::StrCat("difference from ", plot.baseline, " [95 % interval]"));
    table.header.emplace_back("verdict");
  }
  for (const ForestRow& row : plot.rows) {
    const SampleSummary summary = Summarize(row.values);
    std::vector<std::string> cells = {
        row.label, absl::StrCat(summary.n),
        summary.n == 0 ? "missing" : SampleText(summary)};
    if (compares) {
      cells.push_back(row.differences.empty() ? "" : DifferenceText(row));
      cells.push_back(row.label == plot.baseline ? "baseline" : row.verdict);
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace regard
