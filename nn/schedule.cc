#include "nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "third_party/abseil_backport/check.h"

namespace regard {

double IntegerPower(double base, int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) power *= base;
    base *= base;
  }
  return power;
}

Schedule::Schedule(const OptimizerConfig& config)
    : config_(config.schedule()), learning_rate_(config.learning_rate()) {}

double Schedule::Factor(int64_t update) const {
  if (config_.has_exponential()) {
    return IntegerPower(config_.exponential().decay(),
                        (update - 1) / config_.exponential().interval());
  }
  if (config_.has_inverse_square_root()) {
    const double warmup =
        static_cast<double>(config_.inverse_square_root().warmup());
    const double now = static_cast<double>(update);
    return std::min(now / warmup, std::sqrt(warmup / now));
  }
  return state_.factor;
}

double Schedule::LearningRate(int64_t update) const {
  REGARD_CHECK_GE(update, 1) << "updates count from 1";
  const double rate = learning_rate_ * Factor(update);
  if (!config_.has_reduce_on_plateau()) return rate;
  // A rate that starts below the floor stays where it is.
  const double floor =
      std::min(config_.reduce_on_plateau().min_learning_rate(), learning_rate_);
  return std::max(rate, floor);
}

std::string Schedule::metric() const {
  return config_.has_reduce_on_plateau() ? config_.reduce_on_plateau().metric()
                                         : "";
}

void Schedule::Observe(double metric) {
  if (!config_.has_reduce_on_plateau()) return;
  const ReduceOnPlateauScheduleConfig& config = config_.reduce_on_plateau();
  const double margin = config.threshold() * std::abs(state_.best);
  const bool better = !state_.has_best || (config.higher_is_better()
                                               ? metric > state_.best + margin
                                               : metric < state_.best - margin);
  if (better && !std::isnan(metric)) {
    state_.has_best = true;
    state_.best = metric;
    state_.bad_evaluations = 0;
    return;
  }
  if (++state_.bad_evaluations > config.patience()) {
    state_.factor *= config.decay();
    state_.bad_evaluations = 0;
  }
}

}  // namespace regard
