#include "nn/schedules/built_in_schedules.h"

namespace regard {

// Each is defined by REGARD_SCHEDULE in a file of this folder.
extern "C" void RegisterConstantSchedule(ScheduleRegistry& schedules);
extern "C" void RegisterCosineSchedule(ScheduleRegistry& schedules);
extern "C" void RegisterExponentialSchedule(ScheduleRegistry& schedules);
extern "C" void RegisterInverseSquareRootSchedule(ScheduleRegistry& schedules);
extern "C" void RegisterPolynomialSchedule(ScheduleRegistry& schedules);
extern "C" void RegisterReduceOnPlateauSchedule(ScheduleRegistry& schedules);

void RegisterBuiltInSchedules(ScheduleRegistry& schedules) {
  RegisterConstantSchedule(schedules);
  RegisterCosineSchedule(schedules);
  RegisterExponentialSchedule(schedules);
  RegisterInverseSquareRootSchedule(schedules);
  RegisterPolynomialSchedule(schedules);
  RegisterReduceOnPlateauSchedule(schedules);
}

}  // namespace regard
