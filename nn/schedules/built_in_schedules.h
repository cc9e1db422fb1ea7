// Registers every schedule of this repository.
#ifndef NN_SCHEDULES_BUILT_IN_SCHEDULES_H_
#define NN_SCHEDULES_BUILT_IN_SCHEDULES_H_

#include "nn/schedule_registry.h"

namespace regard {

extern "C" void RegisterBuiltInSchedules(ScheduleRegistry& schedules);

}  // namespace regard

#endif  // NN_SCHEDULES_BUILT_IN_SCHEDULES_H_
