#include "nn/optimizer_validation.h"

#include <cfloat>

#include "absl/strings/string_view.h"

namespace regard {

namespace {

// The largest double below 1, for half-open ranges.
constexpr double kBelowOne = 1 - DBL_EPSILON / 2;

void RequireNotNegative(ConfigProblems& problems, absl::string_view path,
                        double value) {
  problems.RequireInRange(path, value, 0, DBL_MAX);
}

// AdamConfig and AdamWConfig have the same fields.
template <typename Config>
void ValidateAdam(const Config& config, ConfigProblems& problems) {
  problems.RequireInRange("beta1", config.beta1(), 0, kBelowOne);
  problems.RequireInRange("beta2", config.beta2(), 0, kBelowOne);
  problems.RequirePositive("epsilon", config.epsilon());
  RequireNotNegative(problems, "weight_decay", config.weight_decay());
}

void ValidateSgd(const SgdConfig& config, ConfigProblems& problems) {
  problems.RequireInRange("momentum", config.momentum(), 0, kBelowOne);
  if (config.nesterov() && config.momentum() == 0) {
    problems.Add("nesterov", "needs momentum > 0");
  }
  RequireNotNegative(problems, "weight_decay", config.weight_decay());
}

void ValidatePlateau(const ReduceOnPlateauScheduleConfig& config,
                     ConfigProblems& problems) {
  if (config.metric().empty()) problems.Add("metric", "names no metric");
  problems.RequireInRange("decay", config.decay(), DBL_MIN, kBelowOne);
  RequireNotNegative(problems, "patience", config.patience());
  RequireNotNegative(problems, "min_learning_rate", config.min_learning_rate());
  problems.RequireInRange("threshold", config.threshold(), 0, kBelowOne);
}

}  // namespace

void Validate(const OptimizerConfig& config, ConfigProblems& problems) {
  problems.RequirePositive("learning_rate", config.learning_rate());
  RequireNotNegative(problems, "clip_norm", config.clip_norm());
  problems.RequireInRange("accumulate_batches", config.accumulate_batches(), 1,
                          1024);
  if (config.has_sgd()) {
    ConfigProblems::Scope scope(problems, "sgd");
    ValidateSgd(config.sgd(), problems);
  } else if (config.has_adam()) {
    ConfigProblems::Scope scope(problems, "adam");
    ValidateAdam(config.adam(), problems);
  } else if (config.has_adamw()) {
    ConfigProblems::Scope scope(problems, "adamw");
    ValidateAdam(config.adamw(), problems);
  }
  ConfigProblems::Scope scope(problems, "schedule");
  Validate(config.schedule(), problems);
}

void Validate(const ScheduleConfig& config, ConfigProblems& problems) {
  if (config.has_exponential()) {
    ConfigProblems::Scope scope(problems, "exponential");
    problems.RequireInRange("decay", config.exponential().decay(), DBL_MIN, 1);
    problems.RequirePositive(
        "interval", static_cast<double>(config.exponential().interval()));
  } else if (config.has_inverse_square_root()) {
    ConfigProblems::Scope scope(problems, "inverse_square_root");
    problems.RequirePositive(
        "warmup", static_cast<double>(config.inverse_square_root().warmup()));
  } else if (config.has_reduce_on_plateau()) {
    ConfigProblems::Scope scope(problems, "reduce_on_plateau");
    ValidatePlateau(config.reduce_on_plateau(), problems);
  }
}

}  // namespace regard
