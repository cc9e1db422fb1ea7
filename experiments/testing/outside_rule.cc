// An optimizer in another namespace, which a program lists in its BUILD file.
#include "google/protobuf/empty.pb.h"
#include "nn/parameters.h"
#include "optimization/optimizer.h"
#include "optimization/optimizer_registry.h"

namespace lab {

template <typename T>
class OutsideRule : public regard::Optimizer<T> {
 public:
  using Options = google::protobuf::Empty;
  OutsideRule(const Options&, regard::ParameterStore<T>& parameters)
      : regard::Optimizer<T>(parameters, {}) {}

 protected:
  void Apply(const regard::ParameterRangeUpdate<T>&) override {}
};

REGARD_OPTIMIZER(OutsideRule, "x")

}  // namespace lab
