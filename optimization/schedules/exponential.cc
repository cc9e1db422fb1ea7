#include <cstdint>

#include "autodiff/kernels/integer_power.h"
#include "optimization/schedule.h"
#include "optimization/schedules/exponential.pb.h"

namespace regard {

class ExponentialSchedule : public Schedule {
 public:
  using Options = ExponentialScheduleConfig;

  ExponentialSchedule(const Options& options, const ScheduleContext& context)
      : options_(options), learning_rate_(context.learning_rate) {}

  double LearningRate(int64_t update) const override {
    return learning_rate_ *
           IntegerPower(options_.decay(), (update - 1) / options_.interval());
  }

 private:
  const Options options_;
  const double learning_rate_;
};

REGARD_SCHEDULE(ExponentialSchedule, "rate decay^floor((step - 1) / interval)")

}  // namespace regard
