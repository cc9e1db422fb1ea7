// Divides each row by its root mean square, then scales it: the parameter
// "weight" [width], which weight decay leaves alone.
#ifndef NN_RMS_NORM_H_
#define NN_RMS_NORM_H_

#include <cstdint>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

template <typename T>
class RmsNormLayer {
 public:
  // `epsilon` is added to the mean square.
  RmsNormLayer(const ParameterScope<T>& scope, int64_t width,
               double epsilon = 1e-5);

  // x [.., width].
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  Parameter<T> weight_;
  double epsilon_;
};

}  // namespace regard

#endif  // NN_RMS_NORM_H_
