// A run of model.bert that a classifier of texts begins with.
#ifndef EXPERIMENTS_TASKS_TEXT_CLASSIFICATION_PRETRAINED_RUN_H_
#define EXPERIMENTS_TASKS_TEXT_CLASSIFICATION_PRETRAINED_RUN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/tasks/trained_run.h"
#include "language/bert.pb.h"
#include "nn/parameters.h"

namespace regard {

struct PretrainedRun : TrainedRun {
  std::string vocabulary;  // the file
  std::string digest;      // SHA-256 of the weights

  const BertConfig& bert() const { return config.model().bert(); }
};

// As OpenTrainedRun(); a run of another model is an InvalidArgument, too.
absl::StatusOr<PretrainedRun> OpenPretrainedRun(absl::string_view run);

// How a config that is to begin with `run` differs in what makes its weights
// another function: all of the model but its pooler, dropout and first values,
// and how texts are cut into tokens. Empty if it does not.
std::string DifferenceFrom(const PretrainedRun& run, const BertConfig& config);

// Fills all parameters but the classifier's, and a pooler that the run has not.
// All that does not fit is said at once.
absl::Status LoadPretrained(const PretrainedRun& run,
                            ParameterStore<float>& parameters);

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TEXT_CLASSIFICATION_PRETRAINED_RUN_H_
