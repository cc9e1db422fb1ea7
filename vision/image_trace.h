// Labels of image patches in traces of a model.
#ifndef VISION_IMAGE_TRACE_H_
#define VISION_IMAGE_TRACE_H_

#include <cstdint>

#include "attention/inspection/trace.h"
#include "data/images/image_set.h"
#include "vision/vision_transformer.h"

namespace regard {

// Returns image `index`, which must have 1 or 3 channels, with the encoder's
// patch grid.
TracedImage TracedImageOf(const ImageSet& images, int64_t index,
                          const VisionTransformer<float>& encoder);

// Returns the labels of the encoder's tokens: the class token, if there is one,
// then the patches by row and column, counted from 1.
TracedSequence PatchesOf(const ImageSet& images, int64_t index,
                         const VisionTransformer<float>& encoder);

}  // namespace regard

#endif  // VISION_IMAGE_TRACE_H_
