#include "experiments/report/plot.h"

#include <algorithm>
#include <cmath>
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

// Colours of series that page.css defines. Later series begin again, dashed
// otherwise than those before.
constexpr int kSeriesColors = 7;

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
  std::vector<std::vector<size_t>> kept;
  for (const Series& series : plot.series) {
    REGARD_CHECK_EQ(series.xs.size(), series.ys.size()) << series.name;
    if (!series.band.empty()) {
      REGARD_CHECK_EQ(series.xs.size(), series.band.size()) << series.name;
    }
    kept.push_back(Thinned(series));
  }
  std::string html = absl::StrCat(
      "<figure class=\"plot\"><figcaption>", EscapeHtml(plot.title),
      "</figcaption>\n<div class=\"canvas\"><canvas role=\"img\" aria-label=\"",
      EscapeHtml(plot.title),
      "\"></canvas><noscript>Curves are drawn by a script inside this "
      "page.</noscript></div>\n");
  AppendLegend(plot, &html);
  absl::StrAppend(&html, "\n<script type=\"application/json\">",
                  PlotJson(plot, kept), "</script></figure>\n");
  return html;
}

}  // namespace regard
