// The schedules of schedules.h as plug-ins, which convert the message of a
// config to options.
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "optimization/optimizer_registry.h"
#include "optimization/schedule.h"
#include "optimization/schedules/constant.pb.h"
#include "optimization/schedules/cosine.pb.h"
#include "optimization/schedules/exponential.pb.h"
#include "optimization/schedules/inverse_square_root.pb.h"
#include "optimization/schedules/polynomial.pb.h"
#include "optimization/schedules/reduce_on_plateau.pb.h"
#include "optimization/schedules/schedules.h"
#include "options/config_problems.h"

namespace regard::plugins {

struct ConstantSchedule : regard::ConstantSchedule {
  using Options = ConstantScheduleConfig;
  ConstantSchedule(const Options&, const ScheduleContext& context)
      : regard::ConstantSchedule(context.learning_rate) {}
};

struct ExponentialSchedule : regard::ExponentialSchedule {
  using Options = ExponentialScheduleConfig;
  ExponentialSchedule(const Options& config, const ScheduleContext& context)
      : regard::ExponentialSchedule(
            {.decay = config.decay(), .interval = config.interval()}, context) {
  }
};

struct InverseSquareRootSchedule : regard::InverseSquareRootSchedule {
  using Options = InverseSquareRootScheduleConfig;
  InverseSquareRootSchedule(const Options& config,
                            const ScheduleContext& context)
      : regard::InverseSquareRootSchedule({.warmup = config.warmup()},
                                          context) {}
};

// `config` must have `warmup`, `updates` and `floor`, and may have `power`.
template <typename Config>
DecayOptions DecayOf(const Config& config) {
  DecayOptions options = {.warmup = config.warmup(),
                          .updates = config.updates(),
                          .floor = config.floor()};
  constexpr bool kHasPower = std::is_same_v<Config, PolynomialScheduleConfig>;
  if constexpr (kHasPower) options.power = config.power();
  return options;
}

template <typename Config>
void ValidateDecay(const Config& config, ConfigProblems& problems) {
  problems.CheckRanges(config);
  if (config.updates() > 0 && config.warmup() >= config.updates()) {
    problems.Note(
        "updates",
        absl::StrCat("is ", config.updates(),
                     ", but must be greater than `warmup` (", config.warmup(),
                     ") for a decay; the learning rate now rises "
                     "and then stays at its floor"));
  }
}

struct CosineSchedule : regard::CosineSchedule {
  using Options = CosineScheduleConfig;
  CosineSchedule(const Options& config, const ScheduleContext& context)
      : regard::CosineSchedule(DecayOf(config), context) {}
  static void Validate(const Options& config, ConfigProblems& problems) {
    ValidateDecay(config, problems);
  }
};

struct PolynomialSchedule : regard::PolynomialSchedule {
  using Options = PolynomialScheduleConfig;
  PolynomialSchedule(const Options& config, const ScheduleContext& context)
      : regard::PolynomialSchedule(DecayOf(config), context) {}
  static void Validate(const Options& config, ConfigProblems& problems) {
    ValidateDecay(config, problems);
  }
};

struct ReduceOnPlateauSchedule : regard::ReduceOnPlateauSchedule {
  using Options = ReduceOnPlateauScheduleConfig;
  ReduceOnPlateauSchedule(const Options& config, const ScheduleContext& context)
      : regard::ReduceOnPlateauSchedule(
            {.metric = config.metric(),
             .higher_is_better = config.higher_is_better(),
             .decay = config.decay(),
             .patience = config.patience(),
             .min_learning_rate = config.min_learning_rate(),
             .threshold = config.threshold()},
            context) {}
  static void Validate(const Options& config, ConfigProblems& problems) {
    if (config.metric().empty()) {
      problems.Add("metric", "must name a metric, such as dev/loss");
    }
    problems.CheckRanges(config);
  }
};

REGARD_SCHEDULE(ConstantSchedule, "rate")
REGARD_SCHEDULE(CosineSchedule, "rate (1 + cos(pi progress)) / 2")
REGARD_SCHEDULE(ExponentialSchedule, "rate decay^floor((step - 1) / interval)")
REGARD_SCHEDULE(InverseSquareRootSchedule,
                "rate min(step / warmup, sqrt(warmup / step))")
REGARD_SCHEDULE(PolynomialSchedule, "rate (1 - progress)^power")
REGARD_SCHEDULE(ReduceOnPlateauSchedule,
                "rate decay^(number of plateaus of the metric)")

}  // namespace regard::plugins
