#include "experiments/report/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "experiments/report/printable_text.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 300;
constexpr double kLeft = 62;
constexpr double kRight = 24;
constexpr double kTop = 10;
constexpr double kBottom = 44;
// Colours of series that page.css defines; later series begin again.
constexpr int kSeriesColors = 7;

constexpr int kMostTicks = 10;  // of an axis

// Indices of the points of a line that are kept, ascending.
std::vector<size_t> Thinned(const Series& series) {
  constexpr size_t kStretches = 500;
  const size_t size = series.ys.size();
  std::vector<size_t> kept;
  if (size <= 2 * kStretches || series.style == SeriesStyle::kPoints) {
    for (size_t i = 0; i < size; ++i) kept.push_back(i);
    return kept;
  }
  for (size_t stretch = 0; stretch < kStretches; ++stretch) {
    const size_t begin = stretch * size / kStretches;
    const size_t end = (stretch + 1) * size / kStretches;
    size_t smallest = begin;
    size_t largest = begin;
    for (size_t i = begin; i < end; ++i) {
      if (!(series.ys[i] >= series.ys[smallest])) smallest = i;
      if (series.ys[i] > series.ys[largest]) largest = i;
    }
    kept.push_back(std::min(smallest, largest));
    if (smallest != largest) kept.push_back(std::max(smallest, largest));
  }
  return kept;
}

// One direction of the drawing: which values it spans and where they lie.
class Axis {
 public:
  // Positions run from `start`, of the smallest value, to `end`.
  Axis(double start, double end, bool logarithmic)
      : start_(start), end_(end), logarithmic_(logarithmic) {}

  bool Shows(double value) const {
    return std::isfinite(value) && (!logarithmic_ || value > 0);
  }
  void Include(double value) {
    if (!Shows(value)) return;
    low_ = std::min(low_, Scaled(value));
    high_ = std::max(high_, Scaled(value));
  }
  // After the last Include: an empty or single-valued range gets some room.
  void Widen(double share) {
    if (low_ > high_) {
      low_ = 0;
      high_ = 1;
    }
    if (low_ == high_) {
      // Half of the value, so that its size shows.
      const double size = std::abs(low_);
      const double half =
          logarithmic_ || size < 1e-300 ? 0.5 : std::min(size / 2, 1e305);
      low_ -= half;
      high_ += half;
    }
    const double room = share * (high_ - low_);
    low_ -= room;
    high_ += room;
  }
  double Position(double value) const {
    return start_ + (Scaled(value) - low_) / (high_ - low_) * (end_ - start_);
  }
  std::vector<double> Ticks() const {
    return logarithmic_ ? LogarithmicTicks() : LinearTicks();
  }

 private:
  double Scaled(double value) const {
    return logarithmic_ ? std::log10(value) : value;
  }
  // About six multiples of 1, 2 or 5 times a power of ten.
  std::vector<double> LinearTicks() const {
    const double rough = (high_ - low_) / 6;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    const double lead = rough / power;
    const double step = power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : 5);
    const double first = std::ceil(low_ / step);
    std::vector<double> ticks;
    // Counted, for adding 1 to a huge multiple would change nothing.
    for (int i = 0; i <= kMostTicks; ++i) {
      const double tick = (first + i) * step + 0.0;  // never -0
      if (!(tick <= high_)) break;
      ticks.push_back(tick);
    }
    return ticks;
  }
  std::vector<double> LogarithmicTicks() const {
    std::vector<double> ticks;
    const bool fine = high_ - low_ < 2.5;
    const double stride = std::ceil((high_ - low_) / kMostTicks);
    for (double e = std::floor(low_); e <= high_; e += stride) {
      for (const double lead : {1.0, 2.0, 5.0}) {
        if (lead > 1 && !fine) break;
        const double value = lead * std::pow(10.0, e);
        if (Scaled(value) >= low_ && Scaled(value) <= high_) {
          ticks.push_back(value);
        }
      }
    }
    return ticks;
  }

  double start_;
  double end_;
  bool logarithmic_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

void AppendFrame(const Plot& plot, const Axis& x, const Axis& y,
                 std::string* svg) {
  for (const double tick : y.Ticks()) {
    absl::StrAppendFormat(
        svg,
        "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>"
        "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%.4g</text>",
        kLeft, y.Position(tick), kWidth - kRight, kLeft - 8,
        y.Position(tick) + 4, tick);
  }
  for (const double tick : x.Ticks()) {
    absl::StrAppendFormat(
        svg, "<text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%.6g</text>",
        x.Position(tick), kHeight - kBottom + 18, tick);
  }
  absl::StrAppendFormat(
      svg, "<text class=\"middle\" x=\"%.1f\" y=\"%.1f\">%s</text>",
      (kLeft + kWidth - kRight) / 2, kHeight - 6, EscapeHtml(plot.x_label));
  absl::StrAppendFormat(svg,
                        "<text class=\"middle\" "
                        "transform=\"translate(13,%.1f)rotate(-90)\">%s</text>",
                        (kTop + kHeight - kBottom) / 2,
                        EscapeHtml(plot.y_label));
}

// The filled area between y - band and y + band, a piece for each stretch of
// points that have one.
void AppendBand(const Series& series, const std::vector<size_t>& kept,
                int color, const Axis& x, const Axis& y, std::string* svg) {
  std::string path;
  std::string there;  // along the upper edge
  std::string back;   // and along the lower one, from the end
  const auto finish_piece = [&] {
    if (!there.empty()) absl::StrAppend(&path, "M", there, back, "Z");
    there.clear();
    back.clear();
  };
  for (const size_t i : kept) {
    const double upper = series.ys[i] + series.band[i];
    const double lower = series.ys[i] - series.band[i];
    if (!x.Shows(series.xs[i]) || !y.Shows(upper) || !y.Shows(lower)) {
      finish_piece();
      continue;
    }
    absl::StrAppendFormat(&there, "%s%.1f %.1f", there.empty() ? "" : "L",
                          x.Position(series.xs[i]), y.Position(upper));
    back = absl::StrFormat("L%.1f %.1f%s", x.Position(series.xs[i]),
                           y.Position(lower), back);
  }
  finish_piece();
  if (path.empty()) return;
  absl::StrAppendFormat(svg, "<path class=\"band k%d\" d=\"%s\"/>", color,
                        path);
}

void AppendSeries(const Series& series, const std::vector<size_t>& kept,
                  int color, const Axis& x, const Axis& y, std::string* svg) {
  if (series.style == SeriesStyle::kPoints) {
    for (const size_t i : kept) {
      if (!x.Shows(series.xs[i]) || !y.Shows(series.ys[i])) continue;
      absl::StrAppendFormat(
          svg, "<circle class=\"p%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", color,
          x.Position(series.xs[i]), y.Position(series.ys[i]));
    }
    return;
  }
  std::string path;
  bool pen_down = false;
  for (const size_t i : kept) {
    const bool shown = x.Shows(series.xs[i]) && y.Shows(series.ys[i]);
    if (shown) {
      absl::StrAppendFormat(&path, "%c%.1f %.1f", pen_down ? 'L' : 'M',
                            x.Position(series.xs[i]), y.Position(series.ys[i]));
    }
    pen_down = shown;
  }
  absl::StrAppendFormat(svg, "<path class=\"l%d%s\" d=\"%s\"/>", color,
                        series.style == SeriesStyle::kDashedLine ? " dash" : "",
                        path);
}

std::string JsonString(const std::string& text) {
  return nlohmann::json(PrintableText(text)).dump(-1, ' ', true);
}

std::string JsonNumbers(const std::vector<double>& values,
                        const std::vector<size_t>& kept) {
  std::string json = "[";
  for (const size_t i : kept) {
    if (json.size() > 1) json += ',';
    if (std::isfinite(values[i])) {
      absl::StrAppendFormat(&json, "%.6g", values[i]);
    } else {
      json += "null";
    }
  }
  return json + "]";
}

absl::string_view StyleName(SeriesStyle style) {
  switch (style) {
    case SeriesStyle::kPoints:
      return "points";
    case SeriesStyle::kDashedLine:
      return "dashed";
    case SeriesStyle::kLine:
      break;
  }
  return "line";
}

std::string PlotJson(const Plot& plot,
                     const std::vector<std::vector<size_t>>& kept) {
  std::string json = absl::StrCat(
      "{\"x\":", JsonString(plot.x_label), ",\"y\":", JsonString(plot.y_label),
      ",\"log\":", plot.logarithmic_y ? "true" : "false", ",\"series\":[");
  for (size_t s = 0; s < plot.series.size(); ++s) {
    const Series& series = plot.series[s];
    absl::StrAppend(&json, s == 0 ? "" : ",",
                    "{\"name\":", JsonString(series.name), ",\"style\":\"",
                    StyleName(series.style),
                    "\",\"xs\":", JsonNumbers(series.xs, kept[s]),
                    ",\"ys\":", JsonNumbers(series.ys, kept[s]));
    if (!series.band.empty()) {
      absl::StrAppend(&json, ",\"band\":", JsonNumbers(series.band, kept[s]));
    }
    json += '}';
  }
  absl::StrAppend(&json, "]}");
  // Nothing in a string may end the script element that holds the JSON.
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

void AppendLegend(const Plot& plot, std::string* html) {
  absl::StrAppend(html, "<p class=\"legend\">");
  for (size_t s = 0; s < plot.series.size(); ++s) {
    absl::StrAppend(html, "<span class=\"item\"><span class=\"key k",
                    s % kSeriesColors, " ", StyleName(plot.series[s].style),
                    "\"></span>", EscapeHtml(plot.series[s].name), "</span> ");
  }
  absl::StrAppend(html, "</p>");
}

}  // namespace

std::string PlotFigure(const Plot& plot) {
  Axis x(kLeft, kWidth - kRight, /*logarithmic=*/false);
  Axis y(kHeight - kBottom, kTop, plot.logarithmic_y);
  std::vector<std::vector<size_t>> kept;
  for (const Series& series : plot.series) {
    REGARD_CHECK_EQ(series.xs.size(), series.ys.size()) << series.name;
    if (!series.band.empty()) {
      REGARD_CHECK_EQ(series.xs.size(), series.band.size()) << series.name;
    }
    kept.push_back(Thinned(series));
    for (const size_t i : kept.back()) {
      x.Include(series.xs[i]);
      y.Include(series.ys[i]);
      if (series.band.empty()) continue;
      y.Include(series.ys[i] - series.band[i]);
      y.Include(series.ys[i] + series.band[i]);
    }
  }
  x.Widen(0);
  y.Widen(0.04);

  std::string html = absl::StrCat("<figure class=\"plot\"><figcaption>",
                                  EscapeHtml(plot.title), "</figcaption>\n");
  absl::StrAppendFormat(
      &html,
      "<div class=\"drawing\"><svg role=\"img\" aria-label=\"%s\" "
      "viewBox=\"0 0 %.0f %.0f\" font-size=\"12\">",
      EscapeHtml(plot.title), kWidth, kHeight);
  AppendFrame(plot, x, y, &html);
  for (size_t s = 0; s < plot.series.size(); ++s) {
    if (plot.series[s].band.empty()) continue;
    AppendBand(plot.series[s], kept[s], static_cast<int>(s) % kSeriesColors, x,
               y, &html);
  }
  for (size_t s = 0; s < plot.series.size(); ++s) {
    AppendSeries(plot.series[s], kept[s], static_cast<int>(s) % kSeriesColors,
                 x, y, &html);
  }
  absl::StrAppend(&html, "</svg></div>\n");
  AppendLegend(plot, &html);
  absl::StrAppend(&html, "\n<script type=\"application/json\">",
                  PlotJson(plot, kept), "</script></figure>\n");
  return html;
}

}  // namespace regard
