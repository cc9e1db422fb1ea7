// The schedules that a program knows, by the message of their options.
#ifndef NN_SCHEDULE_REGISTRY_H_
#define NN_SCHEDULE_REGISTRY_H_

#include <memory>

#include "nn/optimizer.pb.h"
#include "nn/option_registry.h"
#include "nn/schedule.h"

namespace regard {

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

#endif  // NN_SCHEDULE_REGISTRY_H_
