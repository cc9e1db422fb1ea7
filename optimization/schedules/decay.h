// Schedules that warm up linearly and then fall to a floor at a given update.
#ifndef OPTIMIZATION_SCHEDULES_DECAY_H_
#define OPTIMIZATION_SCHEDULES_DECAY_H_

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "optimization/schedule.h"
#include "options/config_problems.h"

namespace regard {

// `Config` has the fields `warmup`, `updates` and `floor`. The rate is
//
//   rate update / warmup                              up to the warm-up's end
//   rate (floor + (1 - floor) Remaining(progress))    after it,
//
// where `progress` goes from 0 to 1 at `updates` and then stays there.
template <typename Config>
class DecaySchedule : public Schedule {
 public:
  using Options = Config;

  DecaySchedule(const Options& options, const ScheduleContext& context)
      : options_(options), context_(context) {}

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    if (options.updates() > 0 && options.warmup() >= options.updates()) {
      problems.Note("updates",
                    absl::StrCat("is ", options.updates(),
                                 ", but must be greater than `warmup` (",
                                 options.warmup(),
                                 ") for a decay; the learning rate now rises "
                                 "and then stays at its floor"));
    }
  }

  int64_t warmup() const final { return options_.warmup(); }

  double LearningRate(int64_t update) const final {
    const int64_t warmup = options_.warmup();
    if (update <= warmup) {
      return context_.learning_rate * static_cast<double>(update) /
             static_cast<double>(warmup);
    }
    const int64_t updates =
        options_.updates() > 0 ? options_.updates() : context_.total_updates;
    const double progress = update >= updates
                                ? 1
                                : static_cast<double>(update - warmup) /
                                      static_cast<double>(updates - warmup);
    const double floor = options_.floor();
    return context_.learning_rate * (floor + (1 - floor) * Remaining(progress));
  }

 protected:
  // From 1 at progress 0 to 0 at progress 1.
  virtual double Remaining(double progress) const = 0;

  const Options& options() const { return options_; }

 private:
  const Options options_;
  const ScheduleContext context_;
};

}  // namespace regard

#endif  // OPTIMIZATION_SCHEDULES_DECAY_H_
