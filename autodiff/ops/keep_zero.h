// Gradients of operations whose derivative may be infinite.
#ifndef AUTODIFF_OPS_KEEP_ZERO_H_
#define AUTODIFF_OPS_KEEP_ZERO_H_

namespace regard {

// `product`, which is g times a derivative; 0 where g is 0, also if the
// derivative is not finite: nothing depends on a weight of 0, such as that of a
// score of -inf. Not a branch, so that loops stay vectorised.
template <typename T>
inline T KeepZero(T g, T product) {
  return g == T(0) ? T(0) : product;
}

}  // namespace regard

#endif  // AUTODIFF_OPS_KEEP_ZERO_H_
