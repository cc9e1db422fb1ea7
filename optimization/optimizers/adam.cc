// Adam and AdamW, as torch.optim's.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "autodiff/kernels/integer_power.h"
#include "optimization/optimizer.h"
#include "optimization/optimizers/adam.pb.h"
#include "optimization/optimizers/weight_decay.h"

namespace regard {

// The messages have the same fields.
template <typename T, typename Config>
class AdamOf : public Optimizer<T> {
 public:
  using Options = Config;

  AdamOf(const Options& options, ParameterStore<T>& parameters)
      : Optimizer<T>(parameters, {"first_moment", "second_moment"}),
        options_(options) {}

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    ValidateWeightDecay(options, problems);
  }

 protected:
  void Apply(const ParameterUpdate<T>& update) override {
    constexpr bool kDecoupled = std::is_same_v<Config, AdamWConfig>;
    const double rate = update.learning_rate;
    const double weight_decay = WeightDecayOf(update.parameter, options_);
    const T shrink = static_cast<T>(kDecoupled ? 1 - rate * weight_decay : 1);
    const T decay = static_cast<T>(kDecoupled ? 0 : weight_decay);
    const T clip = update.clip_factor;
    const T beta1 = static_cast<T>(options_.beta1());
    const T beta2 = static_cast<T>(options_.beta2());
    const T one_minus_beta1 = static_cast<T>(1 - options_.beta1());
    const T one_minus_beta2 = static_cast<T>(1 - options_.beta2());
    const T epsilon = static_cast<T>(options_.epsilon());
    const T step = static_cast<T>(
        rate / (1 - IntegerPower(options_.beta1(), update.number)));
    const T root_scale = static_cast<T>(
        1 / std::sqrt(1 - IntegerPower(options_.beta2(), update.number)));
    T* const __restrict value = update.values;
    const T* const __restrict gradient = update.gradient;
    T* const __restrict first = this->StateOf(0, update);
    T* const __restrict second = this->StateOf(1, update);
    for (int64_t i = 0; i < update.size; ++i) {
      const T slope = clip * gradient[i] + decay * value[i];
      first[i] = beta1 * first[i] + one_minus_beta1 * slope;
      second[i] = beta2 * second[i] + one_minus_beta2 * slope * slope;
      const T root = std::sqrt(second[i]) * root_scale + epsilon;
      value[i] = shrink * value[i] - step * (first[i] / root);
    }
  }

 private:
  const Options options_;
};

template <typename T>
class Adam : public AdamOf<T, AdamConfig> {
  using AdamOf<T, AdamConfig>::AdamOf;
};

template <typename T>
class AdamW : public AdamOf<T, AdamWConfig> {
  using AdamOf<T, AdamWConfig>::AdamOf;
};

REGARD_OPTIMIZER(Adam, "x - rate m / (sqrt(v) + epsilon)")
REGARD_OPTIMIZER(AdamW, "(1 - rate decay) x - rate m / (sqrt(v) + epsilon)")

}  // namespace regard
