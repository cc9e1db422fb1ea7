#include <cmath>
#include <numbers>

#include "nn/schedule.h"
#include "nn/schedules/cosine.pb.h"
#include "nn/schedules/decay.h"

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
