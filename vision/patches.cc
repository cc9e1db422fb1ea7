#include "vision/patches.h"

#include <algorithm>

#include "autodiff/shape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Calls visit(offset in the images, offset in the patches) for each row of
// `patch` elements.
template <typename F>
void ForEachRun(const Shape& images, int64_t patch, F visit) {
  const int64_t channels = images[1];
  const int64_t height = images[2];
  const int64_t width = images[3];
  int64_t to = 0;
  for (int64_t image = 0; image < images[0]; ++image) {
    for (int64_t top = 0; top < height; top += patch) {
      for (int64_t left = 0; left < width; left += patch) {
        for (int64_t channel = 0; channel < channels; ++channel) {
          const int64_t plane = (image * channels + channel) * height;
          for (int64_t y = top; y < top + patch; ++y, to += patch) {
            visit((plane + y) * width + left, to);
          }
        }
      }
    }
  }
}

}  // namespace

template <typename T>
Var<T> Patches(Var<T> images, int64_t patch) {
  REGARD_CHECK_EQ(images.shape().rank(), 4) << "images " << images.shape();
  REGARD_CHECK(patch > 0 && images.dim(2) % patch == 0 &&
               images.dim(3) % patch == 0)
      << "patches of " << patch << " in images " << images.shape();
  const int64_t patches = images.dim(2) / patch * (images.dim(3) / patch);
  Tape<T>& tape = images.tape();
  Var<T> y = tape.New({images.dim(0), patches, images.dim(1) * patch * patch},
                      images.needs_grad());
  ForEachRun(images.shape(), patch, [&](int64_t from, int64_t to) {
    std::copy_n(images.data() + from, patch, y.data() + to);
  });
  tape.Record("Patches", y, [=] {
    auto d = images.grad_ref();
    if (!d) return;
    const bool accumulate = d.BeginContribution();
    const T* const g = y.grad_data();
    T* const grad = d.data();
    // Every pixel belongs to exactly one patch.
    ForEachRun(images.shape(), patch, [&](int64_t from, int64_t to) {
      AddOrAssign(accumulate, patch, grad + from,
                  [=](int64_t i) { return g[to + i]; });
    });
  });
  return y;
}

REGARD_INSTANTIATE_FUNCTION(Patches);

}  // namespace regard
