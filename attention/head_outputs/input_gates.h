// Gates sigmoid(W x + b) of a layer's input x, numbers from 0 to 1.
#ifndef ATTENTION_HEAD_OUTPUTS_INPUT_GATES_H_
#define ATTENTION_HEAD_OUTPUTS_INPUT_GATES_H_

#include <cstdint>
#include <optional>

#include "attention/head_output.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// Parameters: "weight" [gates, input] and, with a bias, "bias" [gates].
template <typename T>
class InputGates {
 public:
  // `bias` is the initial value of each bias. nullopt: there are none.
  InputGates(const ParameterScope<T>& scope, int64_t gates,
             const HeadOutputWidths& widths, std::optional<double> bias);

  // x [batch, queries, input] -> [batch, queries, gates], which is the hook
  // point "gates".
  Var<T> operator()(Forward<T>& forward, Var<T> x) const;

 private:
  Parameter<T> weight_;
  Parameter<T> bias_;  // may be absent
};

}  // namespace regard

#endif  // ATTENTION_HEAD_OUTPUTS_INPUT_GATES_H_
