#include "optimization/optimizers/adam.h"

#include <cmath>
#include <cstdint>

#include "autodiff/instantiate.h"
#include "autodiff/kernels/integer_power.h"
#include "optimization/option_range.h"

namespace regard {

template <typename T>
Adam<T>::Adam(const AdamOptions& options, ParameterStore<T>& parameters)
    : Optimizer<T>(parameters, {"first_moment", "second_moment"}),
      options_(options) {
  CheckOption("AdamOptions::beta1", options.beta1, 0, 0.999999);
  CheckOption("AdamOptions::beta2", options.beta2, 0, 0.999999);
  CheckOption("AdamOptions::epsilon", options.epsilon, 1e-30, 1);
  CheckOption("AdamOptions::weight_decay", options.weight_decay, 0, 1e6);
}

template <typename T>
void Adam<T>::Apply(const ParameterRangeUpdate<T>& update) {
  const double rate = update.learning_rate;
  const double weight_decay =
      IsDecayed(update.parameter, options_.decayed) ? options_.weight_decay : 0;
  const T shrink =
      static_cast<T>(options_.decoupled ? 1 - rate * weight_decay : 1);
  const T decay = static_cast<T>(options_.decoupled ? 0 : weight_decay);
  const T clip = update.clip_factor;
  const T beta1 = static_cast<T>(options_.beta1);
  const T beta2 = static_cast<T>(options_.beta2);
  const T one_minus_beta1 = static_cast<T>(1 - options_.beta1);
  const T one_minus_beta2 = static_cast<T>(1 - options_.beta2);
  const T epsilon = static_cast<T>(options_.epsilon);
  const T step =
      static_cast<T>(rate / (1 - IntegerPower(options_.beta1, update.number)));
  const T root_scale = static_cast<T>(
      1 / std::sqrt(1 - IntegerPower(options_.beta2, update.number)));
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

REGARD_INSTANTIATE_CLASS(Adam);

}  // namespace regard
