// Schedules: the learning rate as a function of the update and of a metric.
//
//   CosineSchedule cosine({.warmup = 100},  // schedules/schedules.h
//                         {.learning_rate = 1e-3, .total_updates = 5000});
//   adam.Update({.learning_rate = cosine.LearningRate(adam.updates() + 1), ...
//
// A schedule is a class that derives from Schedule. optimizer_registry.h says
// how configs choose it.
#ifndef OPTIMIZATION_SCHEDULE_H_
#define OPTIMIZATION_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace regard {

struct ScheduleContext {
  double learning_rate = 0;   // which the factor of the schedule multiplies
  int64_t total_updates = 0;  // of the whole run
};

// The state of a schedule in a checkpoint: named numbers.
using ScheduleState = std::map<std::string, double>;

class Schedule {
 public:
  virtual ~Schedule() = default;

  // The rate of update number `update`, counted from 1.
  virtual double LearningRate(int64_t update) const = 0;

  // Updates over which the rate rises at first; 0: none.
  virtual int64_t warmup() const { return 0; }

  // The metric that Observe() takes, such as "dev/loss"; empty for none. The
  // caller checks that it exists: without it, the schedule would never act.
  virtual std::string metric() const { return ""; }
  virtual void Observe(double /*metric*/) {}

  // Empty for a schedule that observes nothing: the update is its whole state.
  virtual ScheduleState state() const { return {}; }
  // An error if `state` is not one that state() gives; this is then unchanged.
  // A schedule without a state ignores it.
  virtual absl::Status set_state(const ScheduleState& /*state*/) {
    return absl::OkStatus();
  }

  // The default of ScheduleRegistry. A schedule whose message has limits
  // besides (range) declares its own.
  static void Validate(const auto& options, auto& problems) {
    problems.CheckRanges(options);
  }
};

}  // namespace regard

#endif  // OPTIMIZATION_SCHEDULE_H_
