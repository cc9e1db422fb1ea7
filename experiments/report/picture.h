// Draws an image, with the weights of a grid over it, for a page.
#ifndef EXPERIMENTS_REPORT_PICTURE_H_
#define EXPERIMENTS_REPORT_PICTURE_H_

#include <string>

#include "experiments/report/run_results.h"

namespace regard {

// A <figure> whose image is a part of the page. Cells are tinted by their share
// of the largest weight and tell their weight when pointed at; gold blocks
// are outlined. CHECK-fails on sizes that do not fit.
std::string PictureFigure(const Picture& picture);

}  // namespace regard

#endif  // EXPERIMENTS_REPORT_PICTURE_H_
