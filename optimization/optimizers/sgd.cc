// Stochastic gradient descent with momentum, as torch.optim.SGD.
#include <cstdint>
#include <string>
#include <vector>

#include "optimization/optimizer.h"
#include "optimization/optimizers/sgd.pb.h"
#include "optimization/optimizers/weight_decay.h"

namespace regard {

template <typename T>
class Sgd : public Optimizer<T> {
 public:
  using Options = SgdConfig;

  Sgd(const Options& options, ParameterStore<T>& parameters)
      : Optimizer<T>(parameters, options.momentum() > 0
                                     ? std::vector<std::string>{"momentum"}
                                     : std::vector<std::string>()),
        options_(options) {}

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    if (options.nesterov() && options.momentum() == 0) {
      problems.Note("nesterov", "has no effect without momentum");
    }
    ValidateWeightDecay(options, problems);
  }

 protected:
  void Apply(const ParameterUpdate<T>& update) override {
    const T rate = static_cast<T>(update.learning_rate);
    const T decay = static_cast<T>(WeightDecayOf(update.parameter, options_));
    const T clip = update.clip_factor;
    T* const __restrict value = update.values;
    const T* const __restrict gradient = update.gradient;
    if (options_.momentum() == 0) {
      for (int64_t i = 0; i < update.size; ++i) {
        value[i] -= rate * (clip * gradient[i] + decay * value[i]);
      }
      return;
    }
    T* const __restrict velocity = this->StateOf(0, update);
    const T momentum = static_cast<T>(options_.momentum());
    const T ahead = options_.nesterov() ? T(1) : T(0);
    const T share = options_.nesterov() ? momentum : T(1);
    for (int64_t i = 0; i < update.size; ++i) {
      const T slope = clip * gradient[i] + decay * value[i];
      velocity[i] = momentum * velocity[i] + slope;
      value[i] -= rate * (ahead * slope + share * velocity[i]);
    }
  }

 private:
  const Options options_;
};

REGARD_OPTIMIZER(Sgd, "x - rate v, v = momentum v + g")

}  // namespace regard
