// Images as sequences of patches.
#ifndef VISION_PATCHES_H_
#define VISION_PATCHES_H_

#include <cstdint>

#include "autodiff/tape.h"

namespace regard {

// images [batch, channels, height, width] -> [batch, patches, channels * patch
// * patch]: patches row by row, the elements of each in the order [channel, y,
// x], that of a convolution's weight. So a linear map of the result is a
// convolution of stride `patch`. `patch` divides height and width.
template <typename T>
Var<T> Patches(Var<T> images, int64_t patch);

}  // namespace regard

#endif  // VISION_PATCHES_H_
