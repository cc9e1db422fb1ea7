#include "experiments/report/figure.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "experiments/report/page_style.h"
#include "experiments/report/terminal_text.h"
#include "files/tensorboard/png.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kUsualSize = 256;
constexpr int kLargestCell = 8;
// Minimum side of a cell that can have a border, in pixels.
constexpr int kSmallestBordered = 4;

// Returns the colours that page.css lists for `property` in its first block,
// which is for light pages.
std::vector<Rgb> PageColors(absl::string_view property) {
  const absl::string_view style = PageStyle();
  const size_t begin = style.find(absl::StrCat(" ", property, ": #"));
  REGARD_CHECK(begin != style.npos) << property;
  const absl::string_view text =
      style.substr(begin, style.find(';', begin) - begin);
  std::vector<Rgb> colors;
  for (size_t i = text.find('#'); i != text.npos; i = text.find('#', i + 1)) {
    Rgb& color = colors.emplace_back();
    std::ranges::copy(absl::HexStringToBytes(text.substr(i + 1, 6)),
                      color.begin());
  }
  return colors;
}

// Returns the indices of the drawn points of a line, in ascending order.
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
    // Indices of the smallest value, the largest value and the first gap. `end`
    // if the segment has no such value or gap.
    size_t smallest = end;
    size_t largest = end;
    size_t gap = end;
    for (size_t i = begin; i < end; ++i) {
      const double y = series.ys[i];
      if (!std::isfinite(y)) {
        gap = std::min(gap, i);
        continue;
      }
      if (smallest == end || y < series.ys[smallest]) smallest = i;
      if (largest == end || y > series.ys[largest]) largest = i;
    }
    for (const size_t i : std::set<size_t>{smallest, largest, gap}) {
      if (i < end) kept.push_back(i);
    }
  }
  return kept;
}

// Returns a number with six digits, or null if it is not finite.
Json Number(double value) {
  if (!std::isfinite(value)) return nullptr;
  const Json rounded = Json::parse(absl::StrFormat("%.6g", value));
  // Converts whole numbers to integers, because a large floating-point number
  // would be written with an exponent and a decimal point.
  const double number = rounded.get<double>();
  if (number != std::floor(number) || std::abs(number) >= 1e15) return rounded;
  return static_cast<int64_t>(number);
}

// Returns the number of decimals that keep three significant digits of the
// largest value. At least 3. At most 300, because the script computes
// 10^decimals.
int DecimalsOf(double largest) {
  if (largest >= 0.1) return 3;
  return std::min(2 - static_cast<int>(std::floor(std::log10(largest))), 300);
}

// Returns the value as a multiple of 10^-decimals, rounded to an integer.
// Values that are not finite become text.
Json RoundedUnits(double value, int decimals) {
  const double units = std::round(value * std::pow(10.0, decimals));
  if (!std::isfinite(units)) return absl::StrCat(value);
  return Json::parse(absl::StrFormat("%.0f", units));
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

// The names of the styles, in the order of SeriesStyle.
constexpr const char* kStyleNames[] = {"line", "dashed", "points"};

// Returns the first part of a figure, which includes the caption.
std::string FigureBegin(absl::string_view css_class, size_t index,
                        absl::string_view title) {
  return absl::StrCat("<figure class=\"", css_class, "\" id=\"f", index,
                      "\"><figcaption>", EscapeHtml(title), "</figcaption>\n");
}

// Returns the values of a head, and the sum of each row if `with_sums`.
Json HeadJson(const LabelledMatrix& map, const std::vector<double>& head,
              int decimals, bool with_sums) {
  Json json = {{"values", Json::array()}};
  for (const double weight : head) {
    json["values"].push_back(RoundedUnits(weight, decimals));
  }
  const size_t columns = map.columns.size();
  for (size_t r = 0; with_sums && r < map.rows.size(); ++r) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += head[r * columns + c];
    json["sums"].push_back(absl::StrFormat("%.2f", sum));
  }
  return json;
}

std::string Legend(const LabelledMatrix& map, const ColorScaleRange& scale) {
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

// Opacity of the tint for the largest weight.
constexpr double kStrongestTint = 0.8;

// Returns the start of a <rect> element that covers `cells` of the grid.
std::string RectOver(const WeightedImage& picture, const CellRectangle& cells) {
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
    if (!series.low.empty()) {
      REGARD_CHECK_EQ(series.xs.size(), series.low.size()) << series.name;
      REGARD_CHECK_EQ(series.xs.size(), series.high.size()) << series.name;
      one["low"] = Numbers(series.low, kept);
      one["high"] = Numbers(series.high, kept);
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
  const ColorScaleRange scale = ScaleOf(map);
  const int decimals = DecimalsOf(scale.largest);
  Json json = {{"rows", Names(map.rows)},  {"columns", Names(map.columns)},
               {"largest", scale.largest}, {"decimals", decimals},
               {"heads", Json::array()},   {"gold", Json::array()}};
  for (const std::vector<double>& head : map.heads) {
    REGARD_CHECK_EQ(head.size(), map.rows.size() * map.columns.size())
        << "heat map " << map.title;
    json["heads"].push_back(HeadJson(map, head, decimals, !scale.is_signed));
  }
  for (const CellRectangle& cell : map.gold) {
    json["gold"].push_back({cell.row, cell.column});
  }
  const std::string title = FullTitle(map);
  std::string html = absl::StrCat(
      FigureBegin("hm", figures.size(), title),
      "<div class=\"drawing\"><svg role=\"img\" aria-label=\"",
      EscapeHtml(title), "\" width=\"0\" height=\"0\"></svg></div>\n",
      "<noscript><pre>",
      scale.is_signed ? "Drawn by a script inside this page."
                      : EscapeHtml(AlignmentText(map, {.width = 100})),
      "</pre></noscript>\n", Legend(map, scale), "</figure>\n");
  figures.push_back(std::move(json));
  return html;
}

std::string WeightedImageSvg(const WeightedImage& picture) {
  const size_t cells =
      static_cast<size_t>(picture.rows) * static_cast<size_t>(picture.columns);
  REGARD_CHECK_EQ(picture.weights.size(), cells) << "picture " << picture.title;
  std::string elements =
      absl::StrCat(absl::StrFormat("<image width=\"%d\" height=\"%d\" href=\"",
                                   picture.width, picture.height),
                   "data:image/png;base64,",
                   absl::Base64Escape(tensorboard::EncodePng(
                       picture.height, picture.width, picture.rgb)),
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
        &elements, "%s fill-opacity=\"%.2f\"><title>%.3f</title></rect>",
        RectOver(picture, {row, column}), kStrongestTint * share, weight);
  }
  for (const CellRectangle& block : picture.gold) {
    absl::StrAppend(&elements, RectOver(picture, block), " class=\"gold\"/>");
  }
  return elements;
}

std::string WeightedImageFigure(const WeightedImage& picture) {
  const std::string title = EscapeHtml(picture.title);
  return absl::StrCat(
      "<figure class=\"picture\"><figcaption>", title, "</figcaption>",
      absl::StrFormat("<svg role=\"img\" aria-label=\"%s\" viewBox=\"0 0 %d "
                      "%d\">",
                      title, picture.width, picture.height),
      WeightedImageSvg(picture), "</svg></figure>\n");
}

Rgb ColorOf(double weight, double largest) {
  static const auto& grey = *new Rgb(PageColors("--muted")[0]);
  static const auto& ramp = *new auto(PageColors("--stops"));
  static const auto& negative = *new auto(PageColors("--negative-stops"));
  if (!std::isfinite(weight)) return grey;
  const std::vector<Rgb>& stops = weight < 0 ? negative : ramp;
  const auto last = static_cast<int>(stops.size()) - 1;
  const double scaled = std::min(std::abs(weight) / largest, 1.0) * last;
  const int stop = std::min(static_cast<int>(scaled), last - 1);
  Rgb color;
  for (size_t i = 0; i < color.size(); ++i) {
    const int from = stops[stop][i];
    const int to = stops[stop + 1][i];
    color[i] =
        static_cast<uint8_t>(std::lround(from + (scaled - stop) * (to - from)));
  }
  return color;
}

ColorScaleRange ScaleOf(const LabelledMatrix& map) {
  ColorScaleRange scale;
  for (const std::vector<double>& head : map.heads) {
    for (const double weight : head) {
      if (!std::isfinite(weight)) continue;
      scale.largest = std::max(scale.largest, std::abs(weight));
      scale.is_signed = scale.is_signed || weight < 0;
    }
  }
  const bool keep = scale.is_signed || scale.largest < 0.5;
  if (scale.largest == 0 || !keep) scale.largest = 1;
  return scale;
}

std::string FullTitle(const LabelledMatrix& map) {
  if (map.site.empty()) return map.title;
  const size_t rest = map.title.find(": ");
  return absl::StrCat(map.site,
                      rest == map.title.npos ? "" : map.title.substr(rest));
}

HeatMapImage DrawHeatMap(const LabelledMatrix& map, size_t head) {
  const auto rows = static_cast<int>(map.rows.size());
  const auto columns = static_cast<int>(map.columns.size());
  REGARD_CHECK_GT(rows * columns, 0) << "heat map " << map.title;
  REGARD_CHECK_LT(head, map.heads.size());
  REGARD_CHECK_EQ(map.heads[head].size(), map.rows.size() * map.columns.size());
  const int cell =
      std::clamp(kUsualSize / std::max(rows, columns), 1, kLargestCell);
  const double largest = ScaleOf(map).largest;
  const Rgb gold_color = PageColors("--gold")[0];
  std::vector<bool> bordered(map.heads[head].size());
  for (const CellRectangle& gold : map.gold) {
    bordered[gold.row * columns + gold.column] = cell >= kSmallestBordered;
  }
  const auto on_edge = [cell](int pixel) {
    return pixel % cell == 0 || pixel % cell == cell - 1;
  };
  HeatMapImage image{.height = rows * cell, .width = columns * cell};
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const int at = y / cell * columns + x / cell;
      const Rgb color = bordered[at] && (on_edge(y) || on_edge(x))
                            ? gold_color
                            : ColorOf(map.heads[head][at], largest);
      image.rgb.insert(image.rgb.end(), color.begin(), color.end());
    }
  }
  return image;
}

}  // namespace regard
