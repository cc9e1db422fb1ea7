// Images of a data set as pictures of a report.
#ifndef EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_PICTURE_H_
#define EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_PICTURE_H_

#include <cstdint>
#include <vector>

#include "data/images/image_set.h"
#include "experiments/report/run_results.h"
#include "vision/vision_transformer.h"

namespace regard {

// Image `index`, grey or of three channels, under a weight for each patch of
// the encoder, row by row. Without a title.
Picture PictureOf(const ImageSet& images, int64_t index,
                  const VisionTransformer<float>& encoder,
                  std::vector<double> weights);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_IMAGE_CLASSIFICATION_IMAGE_PICTURE_H_
