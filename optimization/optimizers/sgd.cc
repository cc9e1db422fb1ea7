#include "optimization/optimizers/sgd.h"

#include <cstdint>
#include <string>
#include <vector>

#include "autodiff/instantiate.h"
#include "optimization/option_range.h"

namespace regard {

template <typename T>
Sgd<T>::Sgd(const SgdOptions& options, ParameterStore<T>& parameters)
    : Optimizer<T>(parameters, options.momentum > 0
                                   ? std::vector<std::string>{"momentum"}
                                   : std::vector<std::string>()),
      options_(options) {
  CheckOption("SgdOptions::momentum", options.momentum, 0, 0.999999);
  CheckOption("SgdOptions::weight_decay", options.weight_decay, 0, 1e6);
}

template <typename T>
void Sgd<T>::Apply(const ParameterRangeUpdate<T>& update) {
  const T rate = static_cast<T>(update.learning_rate);
  const T decay = static_cast<T>(IsDecayed(update.parameter, options_.decayed)
                                     ? options_.weight_decay
                                     : 0);
  const T clip = update.clip_factor;
  T* const __restrict value = update.values;
  const T* const __restrict gradient = update.gradient;
  if (options_.momentum == 0) {
    for (int64_t i = 0; i < update.size; ++i) {
      value[i] -= rate * (clip * gradient[i] + decay * value[i]);
    }
    return;
  }
  T* const __restrict velocity = this->StateOf(0, update);
  const T momentum = static_cast<T>(options_.momentum);
  const T ahead = options_.nesterov ? T(1) : T(0);
  const T share = options_.nesterov ? momentum : T(1);
  for (int64_t i = 0; i < update.size; ++i) {
    const T slope = clip * gradient[i] + decay * value[i];
    velocity[i] = momentum * velocity[i] + slope;
    value[i] -= rate * (ahead * slope + share * velocity[i]);
  }
}

REGARD_INSTANTIATE_CLASS(Sgd);

}  // namespace regard
