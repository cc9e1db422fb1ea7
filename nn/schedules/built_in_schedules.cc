#include "nn/schedules/built_in_schedules.h"

namespace regard {

// Each is defined by REGARD_SCHEDULE in a file of this folder.
void RegisterConstantSchedule(ScheduleRegistry& schedules);
void RegisterCosineSchedule(ScheduleRegistry& schedules);
void RegisterExponentialSchedule(ScheduleRegistry& schedules);
void RegisterInverseSquareRootSchedule(ScheduleRegistry& schedules);
void RegisterPolynomialSchedule(ScheduleRegistry& schedules);
void RegisterReduceOnPlateauSchedule(ScheduleRegistry& schedules);

void RegisterBuiltInSchedules(ScheduleRegistry& schedules) {
  RegisterConstantSchedule(schedules);
  RegisterCosineSchedule(schedules);
  RegisterExponentialSchedule(schedules);
  RegisterInverseSquareRootSchedule(schedules);
  RegisterPolynomialSchedule(schedules);
  RegisterReduceOnPlateauSchedule(schedules);
}

}  // namespace regard
