#include "attention/mixers/learned_decay.h"

#include <cmath>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"

namespace regard {

namespace {

constexpr double kLargestRate = 16;  // largest initial value of a
constexpr double kSmallestStep = 1e-3;
constexpr double kLargestStep = 0.1;

LinearOptions WithoutBias(LinearOptions options) {
  options.bias = false;
  return options;
}

// Returns an initializer that draws log a, where a is uniform in [1, 16].
Initializer DecayRates() {
  return [uniform = Uniform(0.5)](const RandomStream& stream, int64_t index) {
    return std::log(1 + (kLargestRate - 1) * (0.5 + uniform(stream, index)));
  };
}

// Returns an initializer that draws b such that the logarithm of the step size
// softplus(b) is uniform.
Initializer StepBias() {
  return [uniform = Uniform(0.5)](const RandomStream& stream, int64_t index) {
    const double step = kSmallestStep * std::pow(kLargestStep / kSmallestStep,
                                                 0.5 + uniform(stream, index));
    return step + std::log(-std::expm1(-step));
  };
}

}  // namespace

template <typename T>
Var<T> ReshapeToHeads(Var<T> x, int64_t heads) {
  return Permute(x.Reshape({x.dim(0), x.dim(1), heads, x.dim(2) / heads}),
                 {0, 2, 1, 3});
}

template <typename T>
LearnedDecay<T>::LearnedDecay(const MixerSetup<T>& setup,
                              const LearnedDecayWidths& widths)
    : widths_(widths),
      decay_(setup.scope.Sub("decay"),
             widths.narrow > 0 ? widths.narrow : setup.width,
             widths.heads * widths.channels, WithoutBias(setup.inputs)) {
  const ParameterOptions of_heads = {.role = ParameterRole::kHeadBias};
  step_bias_ = setup.scope.Add("step_bias", {widths.heads * widths.channels},
                               StepBias(), of_heads);
  decay_rate_ =
      setup.scope.Add("decay_rate", {widths.heads}, DecayRates(), of_heads);
  if (widths.narrow > 0) {
    narrow_decay_.emplace(setup.scope.Sub("narrow_decay"), setup.width,
                          widths.narrow, WithoutBias(setup.inputs));
  }
}

template <typename T>
Var<T> LearnedDecay<T>::operator()(Forward<T>& forward, Var<T> x,
                                   Var<T>* step) const {
  const auto [heads, channels, narrow] = widths_;
  if (narrow > 0) x = (*narrow_decay_)(forward, x);
  const Var<T> steps = Softplus(decay_(forward, x) + forward[step_bias_]);
  if (step != nullptr) *step = ReshapeToHeads(steps, heads);
  Var<T> rates = Exp(forward[decay_rate_]);
  if (channels > 1) {
    rates = BroadcastTo(rates.Reshape({heads, 1}), {heads, channels})
                .Reshape({heads * channels});
  }
  return ReshapeToHeads(-(steps * rates), heads);
}

REGARD_INSTANTIATE_FUNCTION(ReshapeToHeads);
REGARD_INSTANTIATE_CLASS(LearnedDecay);

}  // namespace regard
