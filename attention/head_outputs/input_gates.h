// Gates sigmoid(W x + b) in (0, 1), computed from the input x of a layer.
#ifndef ATTENTION_HEAD_OUTPUTS_INPUT_GATES_H_
#define ATTENTION_HEAD_OUTPUTS_INPUT_GATES_H_

#include <cstdint>
#include <optional>

#include "attention/head_output.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// Has the parameters "weight" [gates, input] and, if there is a bias, "bias"
// [gates].
template <typename T>
class InputGates {
 public:
  // The initial value of all biases is `bias`. There are no biases if `bias` is
  // nullopt.
  InputGates(const ParameterScope<T>& scope, int64_t gates,
             const HeadOutputWidths& widths, std::optional<double> bias);

  // Maps x [batch, queries, input] to [batch, queries, gates]. The result is
  // the hook point "gates".
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  Parameter<T> weight_;
  Parameter<T> bias_;  // empty without a bias
};

}  // namespace regard

#endif  // ATTENTION_HEAD_OUTPUTS_INPUT_GATES_H_
