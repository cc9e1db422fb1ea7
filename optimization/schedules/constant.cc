#include <cstdint>

#include "optimization/schedule.h"
#include "optimization/schedules/constant.pb.h"

namespace regard {

class ConstantSchedule : public Schedule {
 public:
  using Options = ConstantScheduleConfig;

  ConstantSchedule(const Options&, const ScheduleContext& context)
      : learning_rate_(context.learning_rate) {}

  double LearningRate(int64_t) const override { return learning_rate_; }

 private:
  const double learning_rate_;
};

REGARD_SCHEDULE(ConstantSchedule, "rate")

}  // namespace regard
