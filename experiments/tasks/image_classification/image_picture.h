// Images of a data set as pictures of a report.
#ifndef EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_PICTURE_H_
#define EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "data/images/image_set.h"
#include "experiments/report/run_results.h"

namespace regard {

// A weight for each patch of an image, row by row.
struct PatchWeights {
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<double> weights = {};
};

// Image `index`, grey or of three channels, under `weights`.
Picture PictureOf(const ImageSet& images, int64_t index, std::string title,
                  const PatchWeights& weights);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_PICTURE_H_
