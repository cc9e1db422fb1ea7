#include "experiments/report/figure.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/heat_map.h"
#include "experiments/report/printable_text.h"
#include "experiments/report/terminal_text.h"
#include "files/tensorboard/png.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

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

// Of six digits; null for what is not finite.
Json Number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return Json::parse(absl::StrFormat("%.6g", value));
}

// In thousandths; what is not finite as a text.
Json Thousandths(double value) {
  const double thousandths = std::round(value * 1000);
  if (!std::isfinite(thousandths)) return absl::StrCat(value);
  return Json::parse(absl::StrFormat("%.0f", thousandths));
}

Json Numbers(const std::vector<double>& values,
             const std::vector<size_t>& kept) {
  Json json = Json::array();
  for (const size_t i : kept) json.push_back(Number(values[i]));
  return json;
}

Json Names(const std::vector<std::string>& tokens) {
  Json json = Json::array();
  for (const std::string& token : tokens) json.push_back(PrintableText(token));
  return json;
}

// By SeriesStyle.
constexpr const char* kStyleNames[] = {"line", "dashed", "points"};

// Up to the caption.
std::string FigureBegin(absl::string_view css_class, size_t index,
                        absl::string_view title) {
  return absl::StrCat("<figure class=\"", css_class, "\" id=\"f", index,
                      "\"><figcaption>", EscapeHtml(title), "</figcaption>\n");
}

// The values of a head, and what each row adds up to.
Json HeadJson(const LabelledMatrix& map, const std::vector<double>& head,
              bool with_sums) {
  Json json = {{"values", Json::array()}};
  for (const double weight : head) {
    json["values"].push_back(Thousandths(weight));
  }
  const size_t columns = map.columns.size();
  for (size_t r = 0; with_sums && r < map.rows.size(); ++r) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += head[r * columns + c];
    json["sums"].push_back(absl::StrFormat("%.2f", sum));
  }
  return json;
}

std::string Legend(const LabelledMatrix& map, const ColorScale& scale) {
  std::string html = "<p class=\"legend\">";
  if (scale.is_signed) {
    absl::StrAppendFormat(&html, "-%.2g <span class=\"negative ramp\"></span> ",
                          scale.largest);
  }
  absl::StrAppendFormat(&html, "0 <span class=\"ramp\"></span> %.2g",
                        scale.largest);
  if (!map.gold.empty()) {
    absl::StrAppend(&html,
                    " · <span class=\"mark\"></span> outlined: gold "
                    "alignment");
  }
  if (!scale.is_signed) {
    absl::StrAppend(&html, " · at the end of a row: its sum");
  }
  return absl::StrCat(html, "</p>");
}

// What is seen of the image under the largest weight.
constexpr double kStrongestTint = 0.8;

// The beginning of a rectangle over cells of the grid.
std::string RectOver(const Picture& picture, const CellBlock& cells) {
  const double height = static_cast<double>(picture.height) / picture.rows;
  const double width = static_cast<double>(picture.width) / picture.columns;
  return absl::StrFormat("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"",
                         cells.column * width, cells.row * height,
                         cells.columns * width, cells.rows * height);
}

}  // namespace

std::string PlotFigure(const Plot& plot, Json& figures) {
  Json json = {{"x", PrintableText(plot.x_label)},
               {"y", PrintableText(plot.y_label)},
               {"log", plot.logarithmic_y},
               {"series", Json::array()}};
  for (const Series& series : plot.series) {
    REGARD_CHECK_EQ(series.xs.size(), series.ys.size()) << series.name;
    const std::vector<size_t> kept = Thinned(series);
    Json one = {{"name", PrintableText(series.name)},
                {"style", kStyleNames[static_cast<size_t>(series.style)]},
                {"xs", Numbers(series.xs, kept)},
                {"ys", Numbers(series.ys, kept)}};
    if (!series.band.empty()) {
      REGARD_CHECK_EQ(series.xs.size(), series.band.size()) << series.name;
      one["band"] = Numbers(series.band, kept);
    }
    json["series"].push_back(std::move(one));
  }
  std::string html = absl::StrCat(
      FigureBegin("plot", figures.size(), plot.title),
      "<div class=\"canvas\"><canvas role=\"img\" aria-label=\"",
      EscapeHtml(plot.title),
      "\"></canvas><noscript>Curves are drawn by a script inside this "
      "page.</noscript></div>\n</figure>\n");
  figures.push_back(std::move(json));
  return html;
}

std::string HeatMapFigure(const LabelledMatrix& map, Json& figures) {
  const ColorScale scale = ScaleOf(map);
  Json json = {{"rows", Names(map.rows)},
               {"columns", Names(map.columns)},
               {"largest", scale.largest},
               {"heads", Json::array()},
               {"gold", Json::array()}};
  for (const std::vector<double>& head : map.heads) {
    REGARD_CHECK_EQ(head.size(), map.rows.size() * map.columns.size())
        << "heat map " << map.title;
    json["heads"].push_back(HeadJson(map, head, !scale.is_signed));
  }
  for (const Cell& cell : map.gold) {
    json["gold"].push_back({cell.row, cell.column});
  }
  std::string html = absl::StrCat(
      FigureBegin("hm", figures.size(), map.title),
      "<div class=\"drawing\"><svg role=\"img\" aria-label=\"",
      EscapeHtml(map.title), "\" width=\"0\" height=\"0\"></svg></div>\n",
      "<noscript><pre>",
      scale.is_signed ? "Drawn by a script inside this page."
                      : EscapeHtml(AlignmentText(map, {.width = 100})),
      "</pre></noscript>\n", Legend(map, scale), "</figure>\n");
  figures.push_back(std::move(json));
  return html;
}

std::string PictureFigure(const Picture& picture) {
  const size_t cells =
      static_cast<size_t>(picture.rows) * static_cast<size_t>(picture.columns);
  REGARD_CHECK_EQ(picture.weights.size(), cells) << "picture " << picture.title;
  std::string html = absl::StrCat(
      "<figure class=\"picture\"><figcaption>", EscapeHtml(picture.title),
      "</figcaption>",
      absl::StrFormat("<svg role=\"img\" aria-label=\"%s\" viewBox=\"0 0 %d "
                      "%d\"><image width=\"%d\" height=\"%d\" href=\"",
                      EscapeHtml(picture.title), picture.width, picture.height,
                      picture.width, picture.height),
      "data:image/png;base64,",
      absl::Base64Escape(
          tensorboard::EncodePng(picture.height, picture.width, picture.rgb)),
      "\"/>");
  double largest = 0;
  for (const double weight : picture.weights) {
    if (std::isfinite(weight)) largest = std::max(largest, weight);
  }
  for (size_t i = 0; i < cells; ++i) {
    const int row = static_cast<int>(i) / picture.columns;
    const int column = static_cast<int>(i) % picture.columns;
    const double weight = picture.weights[i];
    const double share = largest > 0 && std::isfinite(weight)
                             ? std::max(weight, 0.0) / largest
                             : 0;
    absl::StrAppendFormat(
        &html, "%s fill-opacity=\"%.2f\"><title>%.3f</title></rect>",
        RectOver(picture, {row, column}), kStrongestTint * share, weight);
  }
  for (const CellBlock& block : picture.gold) {
    absl::StrAppend(&html, RectOver(picture, block), " class=\"gold\"/>");
  }
  absl::StrAppend(&html, "</svg></figure>\n");
  return html;
}

}  // namespace regard
