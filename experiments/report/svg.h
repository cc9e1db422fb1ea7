// Draws heat maps and pictures as one SVG image, for papers and slides.
#ifndef EXPERIMENTS_REPORT_SVG_H_
#define EXPERIMENTS_REPORT_SVG_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

// Maps with equal rows, columns and numbers of heads. The grid has a row for
// each map and a column for each head. All maps share one colour scale.
struct MapGrid {
  std::string title = {};
  std::vector<LabelledMatrix> maps = {};  // at least one
  // A name for each map, such as "layer 0". Empty if the maps have no names.
  std::vector<std::string> map_names = {};
  // A name for each head. If empty and there are several heads, their names are
  // "head 0", "head 1", ...
  std::vector<std::string> head_names = {};
  std::string unit = {};  // unit of the scale, such as "attention weight"
};

struct WeightedImagesRow {
  std::string title = {};  // may be empty
  std::vector<WeightedImage> pictures = {};
};

// Draws grids and pictures as one self-contained image, with the colours of
// light pages. The image contains the pixels of the pictures. A grid of several
// maps is at most 960 pixels wide, unless its cells would be smaller than a
// pixel. The heads of a single map may take several rows. Names of rows and
// columns are omitted if the cells are too small. CHECK-fails if the sizes do
// not match.
std::string FiguresSvg(absl::Span<const MapGrid> grids,
                       absl::Span<const WeightedImagesRow> pictures = {});

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_SVG_H_
