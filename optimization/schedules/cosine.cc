#include <cmath>
#include <numbers>

#include "optimization/schedule.h"
#include "optimization/schedules/cosine.pb.h"
#include "optimization/schedules/decay.h"

namespace regard {

class CosineSchedule : public DecaySchedule<CosineScheduleConfig> {
 public:
  using DecaySchedule::DecaySchedule;

 protected:
  double Remaining(double progress) const override {
    return 0.5 * (1 + std::cos(std::numbers::pi * progress));
  }
};

REGARD_SCHEDULE(CosineSchedule, "rate (1 + cos(pi progress)) / 2")

}  // namespace regard
