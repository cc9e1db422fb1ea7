#include "tools/svg.h"

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

// In pixels.
constexpr int kMargin = 16;
constexpr int kGap = 20;
constexpr int kUsualWidth = 960;  // which one head may exceed
constexpr int kUsualSide = 480;   // of the cells of a head
constexpr int kLargestCell = 24;
constexpr int kSmallestLabelled = 8;
constexpr int kLine = 20;  // the height of a line of text
constexpr int kPictureSide = 192;
// About what a character takes.
constexpr double kCharacterWidth = 7.4;

constexpr char kStyle[] =
    "<style>text { font: 12px 'DejaVu Sans', Verdana, sans-serif; fill: "
    "#1d2129 } .title { font-weight: 600 } .note { fill: #5f6774 } .gold { "
    "fill: none; stroke: #e07b00; stroke-width: 2 } .picture rect { fill: "
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

// Elements below each other, and how much room they take.
class Drawing {
 public:
  void Add(const LabelledMatrix& map);
  void Add(absl::Span<const Picture> pictures);
  std::string Finish() const;

 private:
  // `attributes` follow those of the place.
  void Text(int x, int y, absl::string_view attributes,
            absl::string_view text) {
    absl::StrAppendFormat(&elements_, "<text x=\"%d\" y=\"%d\"%s>%s</text>\n",
                          x, y, attributes, EscapeHtml(text));
    width_ = std::max(width_, x + WidthOf(text));
  }
  void AddHead(const LabelledMatrix& map, size_t head, int x, int cell);
  void AddLegend(const ColorScale& scale);

  std::string elements_;
  int width_ = 0;
  int bottom_ = kMargin;
};

// The cells of one head, from (x, bottom_) down.
void Drawing::AddHead(const LabelledMatrix& map, size_t head, int x, int cell) {
  const size_t columns = map.columns.size();
  const std::vector<double>& weights = map.heads[head];
  REGARD_CHECK_EQ(weights.size(), map.rows.size() * columns)
      << "heat map " << map.title;
  const double largest = ScaleOf(map).largest;
  for (size_t i = 0; i < weights.size(); ++i) {
    absl::StrAppendFormat(
        &elements_,
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\">"
        "<title>%.3f</title></rect>\n",
        x + static_cast<int>(i % columns) * cell,
        bottom_ + static_cast<int>(i / columns) * cell, cell, cell,
        Hex(ColorOf(weights[i], largest)), weights[i]);
  }
  for (const Cell& gold : map.gold) {
    absl::StrAppendFormat(&elements_,
                          "<rect class=\"gold\" x=\"%d\" y=\"%d\" width=\"%d\" "
                          "height=\"%d\"/>\n",
                          x + gold.column * cell, bottom_ + gold.row * cell,
                          gold.columns * cell, gold.rows * cell);
  }
  width_ = std::max(width_, x + static_cast<int>(columns) * cell);
}

void Drawing::AddLegend(const ColorScale& scale) {
  constexpr int kSteps = 40;  // of two pixels
  const int from = scale.is_signed ? -kSteps : 0;
  const std::string low =
      scale.is_signed ? absl::StrFormat("-%.2g", scale.largest) : "0";
  Text(kMargin, bottom_ + 11, " class=\"note\"", low);
  int x = kMargin + WidthOf(low) + 6;
  for (int step = from; step <= kSteps; ++step, x += 2) {
    absl::StrAppendFormat(
        &elements_,
        "<rect x=\"%d\" y=\"%d\" width=\"2\" height=\"12\" fill=\"%s\"/>\n", x,
        bottom_, Hex(ColorOf(step, kSteps)));
  }
  Text(x + 6, bottom_ + 11, " class=\"note\"",
       absl::StrFormat("%.2g", scale.largest));
  bottom_ += kLine + kGap;
}

void Drawing::Add(const LabelledMatrix& map) {
  const auto rows = static_cast<int>(map.rows.size());
  const auto columns = static_cast<int>(map.columns.size());
  Text(kMargin, bottom_ + 12, " class=\"title\"", map.title);
  bottom_ += kLine;
  const int cell =
      std::clamp(kUsualSide / std::max({rows, columns, 1}), 1, kLargestCell);
  const bool labelled = cell >= kSmallestLabelled;
  const int left = kMargin + (labelled ? LongestOf(map.rows) + 8 : 0);
  // Names of columns rise at 45 degrees, to the right of their cells.
  const int rise = labelled ? LongestOf(map.columns) * 3 / 4 + 12 : 0;
  const int step = columns * cell + kGap;
  const int heads_a_row = std::max(1, (kUsualWidth - left) / step);
  for (size_t head = 0; head < map.heads.size(); ++head) {
    const int place = static_cast<int>(head) % heads_a_row;
    const int x = left + place * step;
    if (place == 0) bottom_ += rise + (map.heads.size() > 1 ? kLine : 0);
    if (map.heads.size() > 1) {
      Text(x, bottom_ - rise - 6, " class=\"note\"",
           absl::StrCat("head ", head));
    }
    for (int c = 0; labelled && c < columns; ++c) {
      const int middle = x + c * cell + cell / 2 + 4;
      Text(middle, bottom_ - 6,
           absl::StrFormat(" transform=\"rotate(-45 %d %d)\"", middle,
                           bottom_ - 6),
           map.columns[static_cast<size_t>(c)]);
    }
    for (int r = 0; labelled && place == 0 && r < rows; ++r) {
      Text(left - 8, bottom_ + r * cell + cell / 2 + 4, " text-anchor=\"end\"",
           map.rows[static_cast<size_t>(r)]);
    }
    AddHead(map, head, x, cell);
    if (place == heads_a_row - 1 || head + 1 == map.heads.size()) {
      bottom_ += rows * cell + kGap;
    }
  }
  AddLegend(ScaleOf(map));
}

void Drawing::Add(absl::Span<const Picture> pictures) {
  int x = kMargin;
  int height = 0;  // of this row
  for (const Picture& picture : pictures) {
    const int side = std::max({picture.height, picture.width, 1});
    const int wide = kPictureSide * picture.width / side;
    const int high = kPictureSide * picture.height / side;
    if (x > kMargin && x + wide > kUsualWidth) {
      x = kMargin;
      bottom_ += height;
      height = 0;
    }
    Text(x, bottom_ + 12, " class=\"title\"", picture.title);
    absl::StrAppendFormat(
        &elements_,
        "<svg class=\"picture\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
        "viewBox=\"0 0 %d %d\">%s</svg>\n",
        x, bottom_ + kLine, wide, high, picture.width, picture.height,
        PictureElements(picture));
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

std::string FiguresSvg(absl::Span<const LabelledMatrix> maps,
                       absl::Span<const Picture> pictures) {
  Drawing drawing;
  for (const LabelledMatrix& map : maps) drawing.Add(map);
  drawing.Add(pictures);
  return drawing.Finish();
}

}  // namespace regard
