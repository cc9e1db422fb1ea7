#include <cmath>

#include "nn/schedule.h"
#include "nn/schedules/decay.h"
#include "nn/schedules/polynomial.pb.h"

namespace regard {

class PolynomialSchedule : public DecaySchedule<PolynomialScheduleConfig> {
 public:
  using DecaySchedule::DecaySchedule;

 protected:
  double Remaining(double progress) const override {
    return std::pow(1 - progress, options().power());
  }
};

REGARD_SCHEDULE(PolynomialSchedule, "rate (1 - progress)^power")

}  // namespace regard
