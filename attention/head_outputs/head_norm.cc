// Normalizes each head's context by its root mean square (first formula) or by
// its mean and standard deviation (second formula):
//
//   output_h = context_h / sqrt(mean(context_h^2) + epsilon) * w_h
//   output_h = (context_h - mean) / sqrt(variance + epsilon) * w_h + b_h
//
// Zhang and Sennrich, "Root mean square layer normalization", 2019; Wu and He,
// "Group normalization", 2018. In the first formula, contexts do not change if
// epsilon is 1 and their mean square is far below 1. The layer is then plain
// attention.
#include <cstdint>

#include "attention/head_output.h"
#include "attention/head_outputs/head_output.pb.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/norm.h"
#include "autodiff/tape.h"
#include "nn/initializers.h"

namespace regard {

template <typename T>
class HeadNorm : public HeadOutput<T> {
 public:
  using Options = NormOutput;

  HeadNorm(const Options& options, ParameterScope<T> scope,
           const HeadOutputWidths& widths)
      : width_(widths.heads * widths.value),
        rms_(options.kind() == NormOutput::RMS_NORM),
        epsilon_(static_cast<T>(options.epsilon())) {
    if (!options.affine()) return;
    weight_ = scope.Add("weight", {width_}, Constant(1),
                        {.role = ParameterRole::kNormalization});
    if (rms_) return;
    bias_ = scope.Add("bias", {width_}, Zeros(),
                      {.role = ParameterRole::kNormalization});
  }

  int64_t Width() const override { return width_; }

  Var<T> Output(Forward<T>& forward, Var<T> context,
                Var<T> /*x*/) const override {
    const Var<T> ones = forward.tape().Full({context.dim(3)}, T(1));
    Var<T> y = rms_ ? RmsNorm(context, ones, epsilon_)
                    : LayerNorm(context, ones, Var<T>(), epsilon_);
    y = y.Reshape({context.dim(0), context.dim(1), width_});
    if (weight_.has_value()) y = y * forward[weight_];
    if (bias_.has_value()) y = y + forward[bias_];
    return y;
  }

 private:
  int64_t width_;
  bool rms_;
  T epsilon_;
  Parameter<T> weight_;  // empty unless `affine`
  Parameter<T> bias_;    // only for a layer norm
};

REGARD_HEAD_OUTPUT(HeadNorm, "c / sqrt(mean(c^2) + epsilon) * w")

}  // namespace regard
