#include "experiments/report/svg.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "experiments/report/figure.h"
#include "files/printable_text.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

// Positions and sizes in pixels.
constexpr int kMargin = 16;
constexpr int kGap = 20;
constexpr int kUsualWidth = 960;  // one head may be wider
constexpr int kUsualSide = 480;   // side of the area of one head
constexpr int kLargestCell = 24;
constexpr int kSmallestLabelled = 8;
constexpr int kLine = 20;  // height of a line of text
constexpr int kPictureSide = 192;
constexpr int kSmallestPicture = 72;
// Approximate width of a character.
constexpr double kCharacterWidth = 7.4;

constexpr char kStyle[] =
    "<style>text { font: 12px 'DejaVu Sans', Verdana, sans-serif; fill: "
    "#1d2129 } .title { font-weight: 600 } .note { fill: #5f6774 } .gold { "
    "fill: none; stroke: #e07b00; stroke-width: 2 } .frame { fill: none; "
    "stroke: #5f6774 } .picture rect { fill: "
    "#e07b00 } .picture .gold { fill: none; stroke: #3f8fd0 } image { "
    "image-rendering: pixelated }</style>\n";

std::string Hex(const Rgb& color) {
  return absl::StrFormat("#%02x%02x%02x", color[0], color[1], color[2]);
}

int WidthOf(absl::string_view text) {
  return static_cast<int>(kCharacterWidth * DisplayWidth(PrintableText(text)));
}

int LongestOf(const std::vector<std::string>& names) {
  int longest = 0;
  for (const std::string& name : names) {
    longest = std::max(longest, WidthOf(name));
  }
  return longest;
}

// Returns the colour scale that all maps of a grid share.
ColorScaleRange ScaleOf(const MapGrid& grid) {
  LabelledMatrix all;
  for (const LabelledMatrix& map : grid.maps) {
    all.heads.insert(all.heads.end(), map.heads.begin(), map.heads.end());
  }
  return ScaleOf(all);
}

// The positions of the cells of a grid, in pixels.
struct Layout {
  int rows = 0;  // rows in each map
  int columns = 0;
  int cell = 0;           // side of a square cell
  bool labelled = false;  // whether cells are large enough for names
  int left = 0;           // left edge of the first head
  int rise = 0;           // height of the column names, at 45 degrees
  int heads_a_row = 1;

  int step() const { return columns * cell + kGap; }
};

Layout LayoutOf(const MapGrid& grid) {
  const LabelledMatrix& map = grid.maps.front();
  const auto heads = static_cast<int>(map.heads.size());
  const bool is_grid = grid.maps.size() > 1;
  Layout layout = {.rows = static_cast<int>(map.rows.size()),
                   .columns = static_cast<int>(map.columns.size())};
  const int names = grid.map_names.empty() ? 0 : kLine;
  const auto place = [&](int cell) {
    layout.cell = cell;
    layout.labelled = cell >= kSmallestLabelled;
    layout.left =
        kMargin + names + (layout.labelled ? LongestOf(map.rows) + 8 : 0);
  };
  place(std::clamp(kUsualSide / std::max({layout.rows, layout.columns, 1}), 1,
                   kLargestCell));
  // Makes the cells smaller until all heads of a layer fit into one row.
  while (is_grid && layout.cell > 1 &&
         layout.left + heads * layout.step() - kGap > kUsualWidth) {
    place(layout.cell - 1);
  }
  layout.rise = layout.labelled ? LongestOf(map.columns) * 3 / 4 + 12 : 0;
  layout.heads_a_row =
      is_grid ? std::max(heads, 1)
              : std::max(1, (kUsualWidth - layout.left) / layout.step());
  return layout;
}

// Collects elements and their total size. Each element is below the previous
// element.
class Drawing {
 public:
  void Add(const MapGrid& grid);
  void Add(const WeightedImagesRow& row);
  std::string Finish() const;

 private:
  // Adds a text. `attributes` are written after the position.
  void Text(int x, int y, absl::string_view attributes,
            absl::string_view text) {
    absl::StrAppendFormat(&elements_, "<text x=\"%d\" y=\"%d\"%s>%s</text>\n",
                          x, y, attributes, EscapeHtml(text));
    width_ = std::max(width_, x + WidthOf(text));
  }
  void AddColumnNames(const LabelledMatrix& map, const Layout& layout, int x);
  void AddRowNames(const LabelledMatrix& map, const Layout& layout);
  void AddHead(const LabelledMatrix& map, size_t head, int x, int cell,
               double largest);
  void AddScale(const ColorScaleRange& scale, absl::string_view unit);

  std::string elements_;
  int width_ = 0;
  int bottom_ = kMargin;
};

// Adds the names of columns above bottom_, at an angle of 45 degrees.
void Drawing::AddColumnNames(const LabelledMatrix& map, const Layout& layout,
                             int x) {
  for (int c = 0; layout.labelled && c < layout.columns; ++c) {
    const int middle = x + c * layout.cell + layout.cell / 2 + 4;
    Text(middle, bottom_ - 6,
         absl::StrFormat(" transform=\"rotate(-45 %d %d)\"", middle,
                         bottom_ - 6),
         map.columns[static_cast<size_t>(c)]);
  }
}

// Adds the names of rows to the left of the first head.
void Drawing::AddRowNames(const LabelledMatrix& map, const Layout& layout) {
  for (int r = 0; layout.labelled && r < layout.rows; ++r) {
    Text(layout.left - 8, bottom_ + r * layout.cell + layout.cell / 2 + 4,
         " text-anchor=\"end\"", map.rows[static_cast<size_t>(r)]);
  }
}

// Adds the cells of one head. (x, bottom_) is their top left corner.
void Drawing::AddHead(const LabelledMatrix& map, size_t head, int x, int cell,
                      double largest) {
  const size_t columns = map.columns.size();
  const std::vector<double>& weights = map.heads[head];
  REGARD_CHECK_EQ(weights.size(), map.rows.size() * columns)
      << "heat map " << map.title;
  for (size_t i = 0; i < weights.size(); ++i) {
    absl::StrAppendFormat(
        &elements_,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\">"
        "<title>%.3f</title></rect>\n",
        x + static_cast<int>(i % columns) * cell,
        bottom_ + static_cast<int>(i / columns) * cell, cell, cell,
        Hex(ColorOf(weights[i], largest)), weights[i]);
  }
  for (const CellRectangle& gold : map.gold) {
    absl::StrAppendFormat(&elements_,
                          "<rect class=\"gold\" x=\"%d\" y=\"%d\" width=\"%d\" "
                          "height=\"%d\"/>\n",
                          x + gold.column * cell, bottom_ + gold.row * cell,
                          gold.columns * cell, gold.rows * cell);
  }
  width_ = std::max(width_, x + static_cast<int>(columns) * cell);
}

// Adds a colour bar with three marks, and the unit of the values.
void Drawing::AddScale(const ColorScaleRange& scale, absl::string_view unit) {
  constexpr int kSteps = 80;  // steps of two pixels each
  constexpr int kHeight = 12;
  const double lowest = scale.is_signed ? -scale.largest : 0;
  const int left = kMargin + 16;  // space for half of a number
  for (int step = 0; step < kSteps; ++step) {
    const double weight =
        lowest + (scale.largest - lowest) * (step + 0.5) / kSteps;
    absl::StrAppendFormat(
        &elements_,
        "<rect x=\"%d\" y=\"%d\" width=\"2\" height=\"%d\" fill=\"%s\"/>\n",
        left + 2 * step, bottom_, kHeight, Hex(ColorOf(weight, scale.largest)));
  }
  absl::StrAppendFormat(&elements_,
                        "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" "
                        "height=\"%d\"/>\n",
                        left, bottom_, 2 * kSteps, kHeight);
  for (const int mark : {0, kSteps / 2, kSteps}) {
    const int x = left + 2 * mark;
    absl::StrAppendFormat(&elements_,
                          "<path class=\"frame\" d=\"M%d %dv4\"/>\n", x,
                          bottom_ + kHeight);
    Text(x, bottom_ + kHeight + 16, " class=\"note\" text-anchor=\"middle\"",
         absl::StrFormat("%.2g",
                         lowest + (scale.largest - lowest) * mark / kSteps));
  }
  if (!unit.empty()) {
    Text(left + 2 * kSteps + 12, bottom_ + 10, " class=\"note\"", unit);
  }
  bottom_ += kHeight + kLine + kGap;
}

void Drawing::Add(const MapGrid& grid) {
  const Layout layout = LayoutOf(grid);
  const ColorScaleRange scale = ScaleOf(grid);
  Text(kMargin, bottom_ + 12, " class=\"title\"", grid.title);
  bottom_ += kLine;
  for (size_t m = 0; m < grid.maps.size(); ++m) {
    const LabelledMatrix& map = grid.maps[m];
    const size_t heads = map.heads.size();
    const bool named = !grid.head_names.empty() || heads > 1;
    for (size_t head = 0; head < heads; ++head) {
      const int place = static_cast<int>(head) % layout.heads_a_row;
      const int x = layout.left + place * layout.step();
      // Only the first layer of a grid has names of heads and columns above it.
      const bool first = m == 0;
      if (place == 0 && first) {
        bottom_ += layout.rise + (named ? kLine : 0);
      }
      if (first && named) {
        Text(x, bottom_ - layout.rise - 6, " class=\"note\"",
             grid.head_names.empty() ? absl::StrCat("head ", head)
                                     : grid.head_names[head]);
      }
      if (first) AddColumnNames(map, layout, x);
      if (place == 0) AddRowNames(map, layout);
      AddHead(map, head, x, layout.cell, scale.largest);
      if (place == layout.heads_a_row - 1 || head + 1 == heads) {
        if (!grid.map_names.empty()) {
          const int y = bottom_ + layout.rows * layout.cell / 2;
          Text(kMargin + 12, y,
               absl::StrFormat(" class=\"note\" text-anchor=\"middle\" "
                               "transform=\"rotate(-90 %d %d)\"",
                               kMargin + 12, y),
               grid.map_names[m]);
        }
        bottom_ += layout.rows * layout.cell + kGap;
      }
    }
  }
  AddScale(scale, grid.unit);
}

void Drawing::Add(const WeightedImagesRow& row) {
  if (row.pictures.empty()) return;
  if (!row.title.empty()) {
    Text(kMargin, bottom_ + 12, " class=\"title\"", row.title);
    bottom_ += kLine;
  }
  const int count = static_cast<int>(row.pictures.size());
  const int most = std::clamp((kUsualWidth - kMargin) / count - kGap,
                              kSmallestPicture, kPictureSide);
  int x = kMargin;
  int height = 0;  // height of this row
  for (const WeightedImage& picture : row.pictures) {
    const int side = std::max({picture.height, picture.width, 1});
    const int wide = most * picture.width / side;
    const int high = most * picture.height / side;
    if (x > kMargin && x + wide > kUsualWidth) {
      x = kMargin;
      bottom_ += height;
      height = 0;
    }
    Text(x, bottom_ + 12, " class=\"note\"", picture.title);
    absl::StrAppendFormat(
        &elements_,
        "<svg class=\"picture\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\">%s</svg>\n",
        x, bottom_ + kLine, wide, high, picture.width, picture.height,
        WeightedImageSvg(picture));
    width_ = std::max(width_, x + wide);
    height = std::max(height, kLine + high + kGap);
    x += std::max(wide, WidthOf(picture.title)) + kGap;
  }
  bottom_ += height;
}

std::string Drawing::Finish() const {
  const int width = width_ + kMargin;
  const int height = bottom_ + kMargin;
  return absl::StrCat(
      absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
                      "height=\"%d\" viewBox=\"0 0 %d %d\">\n",
                      width, height, width, height),
      kStyle, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      elements_, "</svg>\n");
}

}  // namespace

std::string FiguresSvg(absl::Span<const MapGrid> grids,
                       absl::Span<const WeightedImagesRow> pictures) {
  Drawing drawing;
  for (const MapGrid& grid : grids) drawing.Add(grid);
  for (const WeightedImagesRow& row : pictures) drawing.Add(row);
  return drawing.Finish();
}

}  // namespace regard
