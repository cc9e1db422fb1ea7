#include "experiments/report/heat_map.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/color_scale.h"
#include "experiments/report/printable_text.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

// Of a ramp, in the legend's bar.
constexpr int kStops = 5;
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
        "{fill:",
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

// Cells are unit squares in a scaled group and one row a group of its own: what
// repeats for every cell is what counts in the page's size.
void AppendCells(const LabelledMatrix& map, const std::vector<double>& head,
                 double largest, bool name_cells, const Layout& layout,
                 std::string* svg) {
  absl::StrAppendFormat(svg, "<g transform=\"translate(%.1f,%.1f)scale(%d)\">",
                        layout.left, layout.top, layout.cell);
  const size_t columns = map.columns.size();
  for (size_t r = 0; r < map.rows.size(); ++r) {
    absl::StrAppend(svg, "\n<g transform=\"translate(0,", r, ")\">");
    for (size_t c = 0; c < columns; ++c) {
      const double weight = head[r * columns + c];
      absl::StrAppend(svg, "<rect x=", c,
                      " class=", std::string(1, Level(weight, largest)),
                      "><title>");
      if (name_cells) {
        absl::StrAppend(svg, EscapeHtml(PrintableText(map.rows[r])), " ← ",
                        EscapeHtml(PrintableText(map.columns[c])), ": ");
      }
      absl::StrAppendFormat(svg, "%.3f</title></rect>", weight);
    }
    absl::StrAppend(svg, "</g>");
  }
  absl::StrAppend(svg, "</g>\n");
}

void AppendRowSums(const LabelledMatrix& map, const std::vector<double>& head,
                   const Layout& layout, std::string* svg) {
  const size_t columns = map.columns.size();
  for (size_t r = 0; r < map.rows.size(); r += layout.row_stride) {
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) sum += head[r * columns + c];
    absl::StrAppendFormat(
        svg, "<text class=\"sum\" x=\"%.1f\" y=\"%.1f\">%.2f</text>",
        layout.left + static_cast<double>(columns) * layout.cell + 6,
        layout.top + (static_cast<double>(r) + 0.5) * layout.cell +
            layout.font * 0.35,
        sum);
  }
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

// Names in every cell's title would take most of a large map's bytes; there
// the labels at the edges have to do.
bool NamesFit(const LabelledMatrix& map) {
  constexpr size_t kMostNamedCells = 4000;
  return map.rows.size() * map.columns.size() * map.heads.size() <=
         kMostNamedCells;
}

}  // namespace

std::string HeatMapFigure(const LabelledMatrix& map, absl::string_view id) {
  const size_t cells = map.rows.size() * map.columns.size();
  REGARD_CHECK_LE(map.heads.size(), static_cast<size_t>(kMostHeads));
  const Layout layout = LayOut(map);
  const ColorScale scale = ScaleOf(map);
  const bool name_cells = NamesFit(map);
  const size_t heads = map.heads.size();

  std::string html = "<figure class=\"hm\">";
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
  for (const std::vector<double>& head : map.heads) {
    REGARD_CHECK_EQ(head.size(), cells) << "heat map " << map.title;
    absl::StrAppendFormat(
        &html,
        "<div><svg role=\"img\" aria-label=\"%s\" width=\"%.0f\" "
        "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-size=\"%d\">",
        EscapeHtml(map.title), layout.width, layout.height, layout.width,
        layout.height, layout.font);
    AppendLabels(map, layout, &html);
    AppendCells(map, head, scale.largest, name_cells, layout, &html);
    AppendGold(map, layout, &html);
    if (!scale.is_signed) AppendRowSums(map, head, layout, &html);
    absl::StrAppend(&html, "</svg></div>\n");
  }
  absl::StrAppend(&html, Legend(map, scale), "</figure>\n");
  return html;
}

std::string HeatMapStyle() {
  std::string style =
      BothRampRules(ColorRamp::kLight, ColorRamp::kLightNegative);
  absl::StrAppend(&style, "@media(prefers-color-scheme:dark){\n",
                  BothRampRules(ColorRamp::kDark, ColorRamp::kDarkNegative),
                  "}\n");
  for (int head = 1; head <= kMostHeads; ++head) {
    const std::string chosen =
        absl::StrFormat(".hm input:nth-of-type(%d):checked~", head);
    absl::StrAppendFormat(&style,
                          "%sdiv:nth-of-type(%d){display:block}\n"
                          "%slabel:nth-of-type(%d){background:var(--accent);"
                          "color:var(--surface)}\n",
                          chosen, head, chosen, head);
  }
  return style;
}

}  // namespace regard
