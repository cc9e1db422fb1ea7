#include "experiments/tasks/task.h"

#include "experiments/experiment.pb.h"

namespace regard {

LossOptions LossOptionsOf(const Loss& loss) {
  using Normalizer = LossOptions::Normalizer;
  return {.normalizer = loss.normalizer() == Loss::SUM ? Normalizer::kSum
                        : loss.normalizer() == Loss::PER_SEQUENCE
                            ? Normalizer::kPerSequence
                            : Normalizer::kPerToken,
          .scale = loss.scale(),
          .label_smoothing = loss.label_smoothing()};
}

ModelOptions TaskContext::model_options() const {
  return {.loss = LossOptionsOf(config.loss()),
          .seed = config.seed(),
          .finalize = finalize};
}

}  // namespace regard
