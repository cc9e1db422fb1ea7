// Schedules: the learning rate as a function of the update and of a metric.
//
// One schedule is one file of optimization/schedules/:
//
//   class Halfway : public Schedule {
//    public:
//     using Options = HalfwayScheduleConfig;  // a message
//
//     Halfway(const Options&, const ScheduleContext& context)
//         : context_(context) {}
//
//     double LearningRate(int64_t update) const override {
//       const bool late = update > context_.total_updates / 2;
//       return context_.learning_rate * (late ? 0.1 : 1);
//     }
//
//    private:
//     const ScheduleContext context_;
//   };
//
//   REGARD_SCHEDULE(Halfway, "a tenth from half of the run on")
#ifndef OPTIMIZATION_SCHEDULE_H_
#define OPTIMIZATION_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "optimization/optimizer.pb.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

struct ScheduleContext {
  double learning_rate = 0;   // of the optimizer's config
  int64_t total_updates = 0;  // of the whole run
};

// What a checkpoint keeps of a schedule: named numbers.
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

  // A schedule with limits on its options besides (range) declares its own.
  static void Validate(const auto& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
  }
};

struct ScheduleInfo : OptionInfo<> {
  OptionFactory<Schedule, const ScheduleContext&> create;
};

class ScheduleRegistry : public PluginRegistry<ScheduleConfig, ScheduleInfo> {
 public:
  ScheduleRegistry()
      : PluginRegistry("schedule", "constant {}",
                       &ConstantScheduleConfig::default_instance()) {}

  std::unique_ptr<Schedule> Create(const ScheduleConfig& config,
                                   const ScheduleContext& context) const {
    return PluginRegistry::Create(config, context);
  }
};

#define REGARD_SCHEDULE(name, description) \
  REGARD_PLUGIN(ScheduleRegistry, name, description)

}  // namespace regard

#endif  // OPTIMIZATION_SCHEDULE_H_
