// Divides images into sequences of patches.
#ifndef VISION_PATCHES_H_
#define VISION_PATCHES_H_

#include <cstdint>

#include "autodiff/tape.h"

namespace regard {

// Maps images [batch, channels, height, width] to [batch, patches,
// channels * patch * patch]. Patches are ordered row by row. The elements of a
// patch are ordered [channel, y, x], like the weight of a convolution. A linear
// map of the result is therefore a convolution with stride `patch`. `patch`
// must divide height and width.
template <typename T>
Var<T> Patches(Var<T> images, int64_t patch);

}  // namespace regard

#endif  // VISION_PATCHES_H_
