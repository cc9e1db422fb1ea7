// What the rules with weight decay share. `Options` is the message of such a
// rule, with the fields weight_decay and decayed_parameters.
#ifndef OPTIMIZATION_OPTIMIZERS_WEIGHT_DECAY_H_
#define OPTIMIZATION_OPTIMIZERS_WEIGHT_DECAY_H_

#include "nn/parameters.h"
#include "optimization/optimizers/weight_decay.pb.h"
#include "options/config_problems.h"

namespace regard {

bool IsDecayed(const ParameterInfo& parameter, DecayedParameters choice);

// The decay of `parameter`: options.weight_decay() or 0.
template <typename Options>
double WeightDecayOf(const ParameterInfo& parameter, const Options& options) {
  return IsDecayed(parameter, options.decayed_parameters())
             ? options.weight_decay()
             : 0;
}

template <typename Options>
void ValidateWeightDecay(const Options& options, ConfigProblems& problems) {
  if (options.weight_decay() == 0 &&
      options.decayed_parameters() != Options().decayed_parameters()) {
    problems.Note("decayed_parameters", "has no effect without weight_decay");
  }
}

}  // namespace regard

#endif  // OPTIMIZATION_OPTIMIZERS_WEIGHT_DECAY_H_
