#include "experiments/report/picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/printable_text.h"
#include "experiments/run/tensorboard/png.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

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
