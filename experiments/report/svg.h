// Heat maps and pictures as one SVG image, for papers and slides.
#ifndef EXPERIMENTS_REPORT_SVG_H_
#define EXPERIMENTS_REPORT_SVG_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

// Maps of the same rows, columns and number of heads: a row of the grid for
// each map, a column for each head, and one scale of colours for all.
struct MapGrid {
  std::string title = {};
  std::vector<LabelledMatrix> maps = {};  // at least one
  // A name for each map, such as "layer 0"; empty: they have none.
  std::vector<std::string> map_names = {};
  // A name for each head; empty: "head 0" and so on if there are several.
  std::vector<std::string> head_names = {};
  std::string unit = {};  // of the scale, such as "attention weight"
};

struct PictureRow {
  std::string title = {};  // may be empty
  std::vector<Picture> pictures = {};
};

// The image needs nothing from outside of it: colours, which are those of light
// pages, and the pixels of pictures are inside. A grid of several maps is at
// most 960 pixels wide where cells of a pixel allow it; the heads of a single
// map take several rows where they are wider. Names of rows and columns are
// left out where cells are too small for them. CHECK-fails on sizes that do not
// fit.
std::string FiguresSvg(absl::Span<const MapGrid> grids,
                       absl::Span<const PictureRow> pictures = {});

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_SVG_H_
