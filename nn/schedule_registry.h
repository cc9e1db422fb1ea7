// The schedules that a program knows, by the message of their options.
#ifndef NN_SCHEDULE_REGISTRY_H_
#define NN_SCHEDULE_REGISTRY_H_

#include <memory>

#include "absl/strings/string_view.h"
#include "nn/optimizer.pb.h"
#include "nn/option_registry.h"
#include "nn/schedule.h"

namespace regard {

struct ScheduleInfo : OptionInfo<> {
  OptionFactory<Schedule, const ScheduleContext&> create;
};

class ScheduleRegistry : public OptionRegistry<ScheduleInfo> {
 public:
  ScheduleRegistry()
      : OptionRegistry(
            ScheduleConfig::descriptor()->FindOneofByName("schedule"),
            "constant {}", &ConstantScheduleConfig::default_instance()) {}

  // Adds Rule, whose Rule::Options is its options message.
  template <typename Rule>
  void Add(absl::string_view description) {
    Insert({DescribePlugin<Rule>(description),
            &CreatePlugin<Rule, Schedule, const ScheduleContext&>});
  }

  // The schedule of a valid config.
  std::unique_ptr<Schedule> Create(const ScheduleConfig& config,
                                   const ScheduleContext& context) const {
    return CreateBy(&ScheduleInfo::create, config, context);
  }
};

// Defines `void RegisterNAME(regard::ScheduleRegistry&)` for the class NAME, in
// any namespace; regard_binary(schedules = [...]) finds it by the name of its
// target.
#define REGARD_SCHEDULE(name, description)                     \
  extern "C" void Register##name(::regard::ScheduleRegistry&); \
  void Register##name(::regard::ScheduleRegistry& schedules) { \
    schedules.Add<name>(description);                          \
  }

}  // namespace regard

#endif  // NN_SCHEDULE_REGISTRY_H_
