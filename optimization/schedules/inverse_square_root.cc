// Vaswani et al., "Attention is all you need", 2017.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "optimization/schedule.h"
#include "optimization/schedules/inverse_square_root.pb.h"

namespace regard {

class InverseSquareRootSchedule : public Schedule {
 public:
  using Options = InverseSquareRootScheduleConfig;

  InverseSquareRootSchedule(const Options& options,
                            const ScheduleContext& context)
      : warmup_(static_cast<double>(options.warmup())),
        learning_rate_(context.learning_rate) {}

  int64_t warmup() const override { return static_cast<int64_t>(warmup_); }

  double LearningRate(int64_t update) const override {
    const auto now = static_cast<double>(update);
    return learning_rate_ * std::min(now / warmup_, std::sqrt(warmup_ / now));
  }

 private:
  const double warmup_;
  const double learning_rate_;
};

REGARD_SCHEDULE(InverseSquareRootSchedule,
                "rate min(step / warmup, sqrt(warmup / step))")

}  // namespace regard
