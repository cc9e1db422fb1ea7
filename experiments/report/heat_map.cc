#include "experiments/report/heat_map.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "experiments/report/printable_text.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

struct Rgb {
  int red = 0;
  int green = 0;
  int blue = 0;
};

// Heads that one map can show.
constexpr size_t kMostHeads = 32;

// From 0 to the greatest weight, on light and on dark pages, each of steadily
// changing lightness, so that it can be read with any kind of colour vision;
// the negative ones from 0 to the most negative, as gradients are.
enum class ColorRamp { kLight, kDark, kLightNegative, kDarkNegative };

// What the ends of the ramps stand for.
struct ColorScale {
  double largest = 1;  // of absolute values
  bool is_signed = false;
};

// Stops at equal distances, from weight 0 to the largest.
constexpr Rgb kLightRamp[] = {{243, 246, 246},
                              {188, 224, 212},
                              {70, 169, 189},
                              {33, 93, 160},
                              {8, 24, 84}};
constexpr Rgb kDarkRamp[] = {{31, 36, 43},
                             {27, 66, 108},
                             {32, 124, 158},
                             {103, 194, 169},
                             {247, 244, 176}};
// From 0 to the most negative value, for gradients of weights.
constexpr Rgb kLightNegativeRamp[] = {{243, 246, 246},
                                      {247, 212, 166},
                                      {232, 144, 76},
                                      {184, 76, 24},
                                      {92, 24, 8}};
constexpr Rgb kDarkNegativeRamp[] = {
    {31, 36, 43}, {82, 42, 24}, {140, 68, 28}, {200, 108, 46}, {255, 164, 88}};
constexpr int kStops = 5;

using Stops = Rgb[kStops];

const Stops& StopsOf(ColorRamp ramp) {
  switch (ramp) {
    case ColorRamp::kDark:
      return kDarkRamp;
    case ColorRamp::kLightNegative:
      return kLightNegativeRamp;
    case ColorRamp::kDarkNegative:
      return kDarkNegativeRamp;
    case ColorRamp::kLight:
      break;
  }
  return kLightRamp;
}

Rgb RampColor(ColorRamp ramp, double position) {
  const Stops& stops = StopsOf(ramp);
  const double scaled = position * (kStops - 1);
  const int stop = std::min(static_cast<int>(scaled), kStops - 2);
  const double part = scaled - stop;
  const auto mix = [part](int from, int to) {
    return static_cast<int>(std::lround(from + part * (to - from)));
  };
  const Rgb& from = stops[stop];
  const Rgb& to = stops[stop + 1];
  return {mix(from.red, to.red), mix(from.green, to.green),
          mix(from.blue, to.blue)};
}

// 1, or the largest weight of all heads where that is below 1/2; with a
// negative value among them, the largest absolute value. What is not finite
// does not count.
ColorScale ScaleOf(const LabelledMatrix& map) {
  ColorScale scale{.largest = 0};
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

// Colours of cells, named by one letter each to keep the page small.
constexpr int kLevels = 21;

std::string ColorText(const Rgb& color) {
  return absl::StrFormat("#%02x%02x%02x", color.red, color.green, color.blue);
}

// Rules for the bar `name` in the legend, which runs in `direction`, and for
// the cells of a ramp, whose first class is the letter `first`.
std::string RampRules(ColorRamp ramp, absl::string_view name,
                      absl::string_view direction, char first) {
  std::string rules =
      absl::StrCat(":root{", name, ":linear-gradient(", direction);
  for (int stop = 0; stop < kStops; ++stop) {
    absl::StrAppend(
        &rules, ",",
        ColorText(RampColor(ramp, static_cast<double>(stop) / (kStops - 1))));
  }
  absl::StrAppend(&rules, ")}\n");
  for (int level = 0; level < kLevels; ++level) {
    absl::StrAppend(
        &rules, ".hm .", std::string(1, static_cast<char>(first + level)),
        "{stroke:",
        ColorText(RampColor(ramp, static_cast<double>(level) / (kLevels - 1))),
        "}\n");
  }
  return rules;
}

std::string BothRampRules(ColorRamp ramp, ColorRamp negative) {
  return absl::StrCat(RampRules(ramp, "--ramp", "90deg", 'a'),
                      RampRules(negative, "--negative-ramp", "270deg", 'A'));
}

// 'a' to 'u', 'A' to 'U' for a negative weight, or 'z' for one that is not a
// number.
char Level(double weight, double largest) {
  if (!std::isfinite(weight)) return 'z';
  const double position = std::min(std::abs(weight) / largest, 1.0);
  const auto level = std::lround(position * (kLevels - 1));
  return static_cast<char>((weight < 0 ? 'A' : 'a') + level);
}

// A weight in thousandths, rounded.
std::string ThousandthsText(double weight) {
  return std::isfinite(weight)
             ? absl::StrFormat("%.0f", std::round(weight * 1000) + 0.0)
             : absl::StrCat(weight);
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
  if (map.heads.size() > kMostHeads) {
    absl::StrAppend(&html, " · the first ", kMostHeads, " of ",
                    map.heads.size(), " heads");
  }
  absl::StrAppend(&html, "</p>");
  return html;
}

// Sizes in pixels of a drawing.
struct Layout {
  int cell = 0;
  int font = 0;
  int row_stride = 1;     // every how many rows a label stands
  int column_stride = 1;  // leaning labels need more room
  double left = 0;        // of the matrix
  double top = 0;
  double width = 0;
  double height = 0;
};

constexpr int kLongestLabel = 24;  // in characters of usual width
constexpr double kLean = 0.7071;   // column labels lean by 45 degrees
constexpr double kSumWidth = 44;

std::string Label(const std::string& token) {
  return CutToWidth(PrintableText(token), kLongestLabel, "…");
}

double LabelWidth(const std::vector<std::string>& tokens, int font) {
  constexpr double kCharacterWidth = 0.6;  // of the font's size, and a little
  int widest = 1;
  for (const std::string& token : tokens) {
    widest = std::max(widest, DisplayWidth(Label(token)));
  }
  return widest * font * kCharacterWidth + 6;
}

Layout LayOut(const LabelledMatrix& map) {
  constexpr int kUsualSize = 600;
  constexpr int kSmallestFont = 9;
  const int rows = static_cast<int>(map.rows.size());
  const int columns = static_cast<int>(map.columns.size());
  Layout layout;
  layout.cell = std::clamp(kUsualSize / std::max({rows, columns, 1}), 7, 28);
  layout.font = std::clamp(layout.cell - 2, kSmallestFont, 13);
  layout.row_stride = (layout.font + layout.cell - 1) / layout.cell;
  layout.column_stride =
      static_cast<int>(std::ceil(layout.font / kLean / layout.cell));
  const double lean = LabelWidth(map.columns, layout.font) * kLean;
  layout.left = LabelWidth(map.rows, layout.font) + 4;
  layout.top = lean + layout.font;
  layout.width =
      layout.left + columns * layout.cell + std::max(lean, kSumWidth) + 8;
  layout.height = layout.top + rows * layout.cell + 4;
  return layout;
}

void AppendLabels(const LabelledMatrix& map, const Layout& layout,
                  std::string* svg) {
  const double half = layout.cell / 2.0;
  for (size_t c = 0; c < map.columns.size(); c += layout.column_stride) {
    absl::StrAppendFormat(
        svg, "<text transform=\"translate(%.1f,%.1f)rotate(-45)\">%s</text>",
        layout.left + static_cast<double>(c) * layout.cell + half,
        layout.top - 5, EscapeHtml(Label(map.columns[c])));
  }
  for (size_t r = 0; r < map.rows.size(); r += layout.row_stride) {
    absl::StrAppendFormat(svg,
                          "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                          layout.left - 5,
                          layout.top + static_cast<double>(r) * layout.cell +
                              half + layout.font * 0.35,
                          EscapeHtml(Label(map.rows[r])));
  }
}

// The cells of a head as one path per colour: rows are lines of width 1 in a
// scaled group, cells of one colour beside each other one stroke, and the most
// frequent colour one line behind the others. The values are thousandths, empty
// for 0, for the page's script.
void AppendCells(const LabelledMatrix& map, const std::vector<double>& head,
                 double largest, const Layout& layout, std::string* svg) {
  const size_t columns = map.columns.size();
  std::string values;
  std::map<char, std::string> strokes;
  std::map<char, size_t> counts;
  for (size_t i = 0; i < head.size(); ++i) {
    if (i > 0) values += ',';
    if (const std::string text = ThousandthsText(head[i]); text != "0") {
      values += text;
    }
    ++counts[Level(head[i], largest)];
  }
  const auto background =
      std::max_element(counts.begin(), counts.end(),
                       [](auto& a, auto& b) { return a.second < b.second; });
  for (size_t r = 0; r < map.rows.size(); ++r) {
    for (size_t c = 0; c < columns;) {
      const char level = Level(head[r * columns + c], largest);
      const size_t first = c;
      while (c < columns && Level(head[r * columns + c], largest) == level) ++c;
      if (level == background->first) continue;
      absl::StrAppend(&strokes[level], "M", first, " ", r, "h", c - first);
    }
  }
  absl::StrAppendFormat(
      svg, "<g data-values=\"%s\" transform=\"translate(%.1f,%.1f)scale(%d)\">",
      values, layout.left, layout.top + layout.cell / 2.0, layout.cell);
  if (!head.empty()) {
    absl::StrAppendFormat(
        svg, "<path class=%c stroke-width=%d d=\"M0 %.1fh%d\"/>",
        background->first, map.rows.size(),
        (static_cast<double>(map.rows.size()) - 1) / 2, columns);
  }
  for (const auto& [level, path] : strokes) {
    absl::StrAppend(svg, "<path class=", std::string(1, level), " d=\"", path,
                    "\"/>");
  }
  absl::StrAppend(svg, "</g>\n");
}

void AppendRowSums(const LabelledMatrix& map, const std::vector<double>& head,
                   const Layout& layout, std::string* svg) {
  const size_t columns = map.columns.size();
  absl::StrAppendFormat(
      svg, "<g class=\"sum\" transform=\"translate(%.1f,%.1f)\">",
      layout.left + static_cast<double>(columns) * layout.cell + 6,
      layout.top + layout.cell / 2.0 + layout.font * 0.35);
  for (size_t r = 0; r < map.rows.size(); r += layout.row_stride) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += head[r * columns + c];
    absl::StrAppendFormat(svg, "<text y=%d>%.2f</text>", r * layout.cell, sum);
  }
  absl::StrAppend(svg, "</g>");
}

void AppendGold(const LabelledMatrix& map, const Layout& layout,
                std::string* svg) {
  for (const Cell& cell : map.gold) {
    absl::StrAppendFormat(
        svg,
        "<rect class=\"gold\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" "
        "height=\"%d\"/>",
        layout.left + cell.column * layout.cell + 1,
        layout.top + cell.row * layout.cell + 1, layout.cell - 2,
        layout.cell - 2);
  }
}

// What the page's script names rows or columns by: one a line.
std::string Names(const std::vector<std::string>& tokens) {
  std::string names;
  for (size_t i = 0; i < tokens.size(); ++i) {
    absl::StrAppend(&names, i == 0 ? "" : "\n",
                    EscapeHtml(PrintableText(tokens[i])));
  }
  return names;
}

}  // namespace

std::string HeatMapFigure(const LabelledMatrix& map, absl::string_view id) {
  const size_t cells = map.rows.size() * map.columns.size();
  const Layout layout = LayOut(map);
  const ColorScale scale = ScaleOf(map);
  const size_t heads = std::min(map.heads.size(), kMostHeads);

  std::string html =
      absl::StrCat("<figure class=\"hm\" data-rows=\"", Names(map.rows),
                   "\" data-columns=\"", Names(map.columns), "\">");
  absl::StrAppend(&html, "<figcaption>", EscapeHtml(map.title),
                  "</figcaption>\n");
  if (heads > 1) {
    for (size_t h = 0; h < heads; ++h) {
      absl::StrAppend(&html, "<input type=\"radio\" name=\"", id, "\" id=\"",
                      id, "-", h, "\"", h == 0 ? " checked" : "", ">");
    }
    for (size_t h = 0; h < heads; ++h) {
      absl::StrAppend(&html, "<label for=\"", id, "-", h, "\">head ", h + 1,
                      "</label>");
    }
  }
  absl::StrAppendFormat(
      &html,
      "<div><svg role=\"img\" aria-label=\"%s\" width=\"%.0f\" "
      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-size=\"%d\">",
      EscapeHtml(map.title), layout.width, layout.height, layout.width,
      layout.height, layout.font);
  AppendLabels(map, layout, &html);
  for (const std::vector<double>& head :
       absl::MakeConstSpan(map.heads).first(heads)) {
    REGARD_CHECK_EQ(head.size(), cells) << "heat map " << map.title;
    absl::StrAppend(&html, "\n<g>");
    AppendCells(map, head, scale.largest, layout, &html);
    if (!scale.is_signed) AppendRowSums(map, head, layout, &html);
    absl::StrAppend(&html, "</g>");
  }
  AppendGold(map, layout, &html);
  absl::StrAppend(&html, "</svg></div>\n");
  absl::StrAppend(&html, Legend(map, scale), "</figure>\n");
  return html;
}

std::string HeatMapStyle() {
  std::string style =
      BothRampRules(ColorRamp::kLight, ColorRamp::kLightNegative);
  absl::StrAppend(&style, "@media(prefers-color-scheme:dark){\n",
                  BothRampRules(ColorRamp::kDark, ColorRamp::kDarkNegative),
                  "}\n");
  for (size_t head = 1; head <= kMostHeads; ++head) {
    const std::string chosen =
        absl::StrFormat(".hm input:nth-of-type(%d):checked~", head);
    absl::StrAppendFormat(&style,
                          "%sdiv>svg>g:nth-of-type(%d){display:inline}\n"
                          "%slabel:nth-of-type(%d){background:var(--accent);"
                          "color:var(--surface)}\n",
                          chosen, head, chosen, head);
  }
  return style;
}

namespace {

constexpr int kUsualSize = 256;
constexpr int kLargestCell = 8;
// Below this side a border would leave nothing of a cell.
constexpr int kSmallestBordered = 4;
constexpr Rgb kGold = {224, 123, 0};
constexpr Rgb kNotFinite = {95, 103, 116};

Rgb ColorOf(double weight, double largest) {
  if (!std::isfinite(weight)) return kNotFinite;
  return RampColor(weight < 0 ? ColorRamp::kLightNegative : ColorRamp::kLight,
                   std::min(std::abs(weight) / largest, 1.0));
}

void SetPixel(int y, int x, const Rgb& color, HeatMapImage* image) {
  uint8_t* const pixel =
      &image->rgb[(static_cast<size_t>(y) * image->width + x) * 3];
  pixel[0] = static_cast<uint8_t>(color.red);
  pixel[1] = static_cast<uint8_t>(color.green);
  pixel[2] = static_cast<uint8_t>(color.blue);
}

}  // namespace

HeatMapImage DrawHeatMap(const LabelledMatrix& map, size_t head) {
  const auto rows = static_cast<int>(map.rows.size());
  const auto columns = static_cast<int>(map.columns.size());
  REGARD_CHECK_GT(rows * columns, 0) << "heat map " << map.title;
  REGARD_CHECK_LT(head, map.heads.size());
  REGARD_CHECK_EQ(map.heads[head].size(), map.rows.size() * map.columns.size());
  const int cell =
      std::clamp(kUsualSize / std::max(rows, columns), 1, kLargestCell);
  const double largest = ScaleOf(map).largest;
  HeatMapImage image{.height = rows * cell, .width = columns * cell};
  image.rgb.resize(static_cast<size_t>(image.height) * image.width * 3);
  for (int y = 0; y < image.height; ++y) {
    const double* const row =
        &map.heads[head][static_cast<size_t>(y / cell) * columns];
    for (int x = 0; x < image.width; ++x) {
      SetPixel(y, x, ColorOf(row[x / cell], largest), &image);
    }
  }
  if (cell < kSmallestBordered) return image;
  for (const Cell& gold : map.gold) {
    const int top = gold.row * cell;
    const int left = gold.column * cell;
    for (int i = 0; i < cell; ++i) {
      SetPixel(top, left + i, kGold, &image);
      SetPixel(top + cell - 1, left + i, kGold, &image);
      SetPixel(top + i, left, kGold, &image);
      SetPixel(top + i, left + cell - 1, kGold, &image);
    }
  }
  return image;
}

}  // namespace regard
