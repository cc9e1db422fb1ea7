// Interface of a workload that the benchmark times.
#ifndef TOOLS_PEERS_TIMED_WORK_H_
#define TOOLS_PEERS_TIMED_WORK_H_

#include <vector>

#include "nn/parameters.h"

namespace regard {

class TimedWork {
 public:
  virtual ~TimedWork() = default;

  // The initial weights, which other frameworks load. May be empty.
  virtual ParameterStore<float>& parameters() = 0;

  // Returns numbers that must agree between frameworks, computed from the
  // initial weights: for example losses, ids or log-probabilities. May change
  // the weights.
  virtual std::vector<double> NumbersToCompare() = 0;

  virtual void Step() = 0;
};

}  // namespace regard

#endif  // TOOLS_PEERS_TIMED_WORK_H_
