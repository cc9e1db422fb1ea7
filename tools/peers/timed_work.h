// What a contender of the bench is told to do.
#ifndef TOOLS_PEERS_TIMED_WORK_H_
#define TOOLS_PEERS_TIMED_WORK_H_

#include <vector>

#include "nn/parameters.h"

namespace regard {

class TimedWork {
 public:
  virtual ~TimedWork() = default;

  // The weights that peers start from; may have none.
  virtual const ParameterStore<float>& parameters() const = 0;

  // Numbers that must agree among contenders, from the first weights: the
  // losses of steps 1 and 5, or a loss and the norm of its gradient, or the
  // mean log probability of what was found. May change the weights.
  virtual std::vector<double> Check() = 0;

  virtual void Step() = 0;
};

}  // namespace regard

#endif  // TOOLS_PEERS_TIMED_WORK_H_
