#include <cmath>

#include "optimization/schedule.h"
#include "optimization/schedules/decay.h"
#include "optimization/schedules/polynomial.pb.h"

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
