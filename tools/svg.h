// Heat maps and pictures as one SVG image, for papers and slides.
#ifndef TOOLS_SVG_H_
#define TOOLS_SVG_H_

#include <string>

#include "absl/types/span.h"
#include "experiments/report/run_results.h"

namespace regard {

// The image needs nothing from outside of it: colours, which are those of light
// pages, and the pixels of pictures are inside. The heads of a map stand side
// by side; the names of its rows and columns are left out where cells are too
// small for them. CHECK-fails on sizes that do not fit.
std::string FiguresSvg(absl::Span<const LabelledMatrix> maps,
                       absl::Span<const Picture> pictures = {});

}  // namespace regard

#endif  // TOOLS_SVG_H_
