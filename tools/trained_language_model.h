// The language model that a run folder holds, ready for use.
#ifndef TOOLS_TRAINED_LANGUAGE_MODEL_H_
#define TOOLS_TRAINED_LANGUAGE_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/trained_run.h"
#include "language/language_model.h"

namespace regard {

struct TrainedLanguageModel : TrainedRun {
  std::unique_ptr<LanguageModel> model;
};

// As OpenTrainedRun(); a run of another task is an InvalidArgument, too.
absl::StatusOr<TrainedLanguageModel> LoadLanguageModel(absl::string_view run,
                                                       const Plugins& plugins);

}  // namespace regard

#endif  // TOOLS_TRAINED_LANGUAGE_MODEL_H_
