// Differential attention, version 2. Heads 2 i and 2 i + 1, which share a key
// head and a value head, become one head:
//
//   output_i = context_{2 i} - lambda_i * context_{2 i + 1}
//   lambda_i = sigmoid(w_i . x + b_i)
//
// Each position and each pair of heads has its own lambda. The output has no
// norm. Ye et al., "Differential Transformer V2", 2026. If b is far below 0,
// lambda is exactly 0, and the layer is plain attention with heads 0, 2, 4, ...
#include <cstdint>
#include <optional>

#include "attention/head_output.h"
#include "attention/head_outputs/head_output.pb.h"
#include "attention/head_outputs/input_gates.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"

namespace regard {

template <typename T>
class HeadDifference : public HeadOutput<T> {
 public:
  using Options = DifferentialOutput;
  static constexpr int64_t kJoinedHeads = 2;

  HeadDifference(const Options& options, ParameterScope<T> scope,
                 const HeadOutputWidths& widths)
      : width_(widths.heads / 2 * widths.value),
        lambda_(scope.Sub("lambda"), widths.heads / 2, widths,
                options.has_bias() ? std::optional(options.bias())
                                   : std::nullopt) {}

  int64_t Width() const override { return width_; }

  Var<T> Output(Forward<T>& forward, Var<T> context, Var<T> x) const override {
    const int64_t batch = context.dim(0);
    const int64_t queries = context.dim(1);
    const int64_t pairs = context.dim(2) / 2;
    const int64_t width = context.dim(3);
    const Var<T> both = context.Reshape({batch, queries, pairs, 2 * width});
    const Var<T> first = Slice(both, /*axis=*/3, 0, width);
    const Var<T> second = Slice(both, /*axis=*/3, width, width);
    const Var<T> lambda =
        lambda_(forward, x).Reshape({batch, queries, pairs, 1});
    return (first - lambda * second).Reshape({batch, queries, width_});
  }

 private:
  int64_t width_;
  InputGates<T> lambda_;
};

REGARD_HEAD_OUTPUT(HeadDifference, "c_2i - sigmoid(W x + b) * c_2i+1")

}  // namespace regard
