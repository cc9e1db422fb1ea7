// The interface of schedules: the learning rate as a function of the optimizer
// step and of a metric.
//
//   CosineSchedule cosine({.warmup = 100},  // schedules/schedules.h
//                         {.learning_rate = 1e-3, .total_updates = 5000});
//   adam.Update({.learning_rate = cosine.LearningRate(adam.updates() + 1), ...
//
// A schedule is a class that derives from Schedule. Configs choose it through
// optimizer_registry.h.
#ifndef OPTIMIZATION_SCHEDULE_H_
#define OPTIMIZATION_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"

namespace regard {

struct ScheduleContext {
  double learning_rate = 0;   // multiplied by the factor of the schedule
  int64_t total_updates = 0;  // optimizer steps of the whole run
};

// The state of a schedule in a checkpoint: named numbers.
using ScheduleState = std::map<std::string, double>;

class Schedule {
 public:
  virtual ~Schedule() = default;

  // The learning rate of optimizer step `update`, counted from 1.
  virtual double LearningRate(int64_t update) const = 0;

  // The number of optimizer steps over which the rate rises initially. 0 means
  // that there is no warm-up.
  virtual int64_t warmup() const { return 0; }

  // The metric that Observe() takes, such as "dev/loss", or "" if the schedule
  // observes no metric. The caller must check that the metric exists: without
  // it, the schedule would never act.
  virtual std::string metric() const { return ""; }
  virtual void Observe(double /*metric*/) {}

  // The state that a checkpoint stores. Empty for a schedule that observes
  // nothing, because its rate depends only on the number of the optimizer step.
  virtual ScheduleState state() const { return {}; }
  // Restores the state. Returns an error and changes nothing if state() could
  // not have returned `state`. A schedule without a state ignores it.
  virtual absl::Status set_state(const ScheduleState& /*state*/) {
    return absl::OkStatus();
  }

  // The default validation of ScheduleRegistry. A schedule whose message has
  // limits other than (range) declares its own Validate().
  static void Validate(const auto& options, auto& problems) {
    problems.CheckRanges(options);
  }
};

}  // namespace regard

#endif  // OPTIMIZATION_SCHEDULE_H_
