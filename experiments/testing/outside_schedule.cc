// A schedule in another namespace, which a program lists in its BUILD file.
#include <cstdint>

#include "google/protobuf/empty.pb.h"
#include "optimization/optimizer_registry.h"
#include "optimization/schedule.h"

namespace lab {

class OutsideSchedule : public regard::Schedule {
 public:
  using Options = google::protobuf::Empty;
  OutsideSchedule(const Options&, const regard::ScheduleContext&) {}
  double LearningRate(int64_t) const override { return 1; }
};

REGARD_SCHEDULE(OutsideSchedule, "1")

}  // namespace lab
