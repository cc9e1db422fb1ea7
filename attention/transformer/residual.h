// A residual branch of a Transformer layer, with the norm before or after it.
//
//   PRE:   x + drop(f(norm(x)))
//   POST:  norm(x + drop(f(x)))
//
// where drop is dropout of elements, then DropPath.
#ifndef ATTENTION_TRANSFORMER_RESIDUAL_H_
#define ATTENTION_TRANSFORMER_RESIDUAL_H_

#include <cstdint>
#include <type_traits>

#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/layers/norm.h"
#include "nn/parameters.h"

namespace regard {

class NormConfig;
class TransformerConfig;

// In training, sets each example of x [batch, ..] to zero with probability
// `rate`, and divides the other examples by 1 - rate (stochastic depth, Huang
// et al., 2016). Outside of training, returns x. The choice for an example does
// not depend on the other examples in the batch, as in Dropout().
template <typename T>
Var<T> DropPath(Var<T> x, std::type_identity_t<T> rate, const char* site);

// A layer norm or an RMS norm. Parameters: "weight", "bias".
template <typename T>
class Norm : public NormLayer<T> {
 public:
  Norm(const NormConfig& config, int64_t width, const ParameterScope<T>& scope);
};

template <typename T>
class Residual {
 public:
  // Constructs one of the branches of layer number `layer` in the stack. Its
  // only parameters belong to the norm.
  Residual(const TransformerConfig& config, int64_t layer,
           const ParameterScope<T>& scope);

  // Applies the branch to x [batch, time, width]. branch(Var<T>) must return a
  // Var<T> of the same shape.
  template <typename F>
  Var<T> operator()(Forward<T>& forward, Var<T> x, F branch) const {
    if (pre_) return AddBranch(x, branch(norm_(forward, x)));
    return norm_(forward, AddBranch(x, branch(x)));
  }

 private:
  Var<T> AddBranch(Var<T> x, Var<T> branch) const;

  bool pre_;
  T dropout_;
  T drop_path_;
  Norm<T> norm_;
};

}  // namespace regard

#endif  // ATTENTION_TRANSFORMER_RESIDUAL_H_
