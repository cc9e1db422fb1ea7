// The output gate multiplies the context of each head h by gates that depend on
// the layer's input x:
//
//   output_h = sigmoid(W_h x + b_h) * context_h
//
// Each head has one gate for each element of its context, or only one gate. Qiu
// et al., "Gated attention for large language models: non-linearity, sparsity,
// and attention-sink-free", 2025. If b is large, the gates are exactly 1, and
// the layer is plain attention.
#include <cstdint>
#include <optional>

#include "attention/head_output.h"
#include "attention/head_outputs/head_output.pb.h"
#include "attention/head_outputs/input_gates.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class OutputGate : public HeadOutput<T> {
 public:
  using Options = GateOutput;

  OutputGate(const Options& options, ParameterScope<T> scope,
             const HeadOutputWidths& widths)
      : width_(widths.heads * widths.value),
        gates_of_head_(
            options.granularity() == GateOutput::HEAD ? 1 : widths.value),
        gates_(scope, widths.heads * gates_of_head_, widths,
               options.has_bias() ? std::optional(options.bias())
                                  : std::nullopt) {}

  int64_t Width() const override { return width_; }

  Var<T> Output(Forward<T>& forward, Var<T> context, Var<T> x) const override {
    const int64_t batch = context.dim(0);
    const int64_t queries = context.dim(1);
    const Var<T> gates =
        gates_(forward, x)
            .Reshape({batch, queries, context.dim(2), gates_of_head_});
    return (gates * context).Reshape({batch, queries, width_});
  }

 private:
  int64_t width_;
  int64_t gates_of_head_;
  InputGates<T> gates_;
};

REGARD_HEAD_OUTPUT(OutputGate, "sigmoid(W x + b) * c")

}  // namespace regard
