// The positions of an image where a model is looked at.
#ifndef VISION_IMAGE_TRACE_H_
#define VISION_IMAGE_TRACE_H_

#include <cstdint>

#include "attention/inspection/trace.h"
#include "data/images/image_set.h"
#include "vision/vision_transformer.h"

namespace regard {

// Image `index`, grey or of three channels, with the encoder's patches.
TracedImage ImageOf(const ImageSet& images, int64_t index,
                    const VisionTransformer<float>& encoder);

// The same as a sequence: the class token, if there is one, then the patches
// by row and column, from 1.
TracedSequence PatchesOf(const ImageSet& images, int64_t index,
                         const VisionTransformer<float>& encoder);

}  // namespace regard

#endif  // VISION_IMAGE_TRACE_H_
