#include "experiments/tasks/built_in_plugins.h"

#include "attention/scoring/built_in_scores.h"
#include "experiments/tasks/captions/captions_task.h"
#include "experiments/tasks/image_classification/image_classification_task.h"
#include "experiments/tasks/masked_words/masked_words_task.h"
#include "experiments/tasks/regression/regression_task.h"
#include "experiments/tasks/text/language_model_task.h"
#include "experiments/tasks/text_classification/text_classification_task.h"
#include "experiments/tasks/translation/translation_task.h"
#include "nn/optimizers/built_in_optimizers.h"
#include "nn/schedules/built_in_schedules.h"

namespace regard {

// A new task is a line in this list.
void RegisterBuiltInPlugins(Plugins& plugins) {
  RegisterBuiltInScores(plugins.scorers);
  RegisterBuiltInOptimizers(plugins.optimizers);
  RegisterBuiltInSchedules(plugins.schedules);
  RegisterCaptions(plugins);
  RegisterImageClassification(plugins);
  RegisterMaskedWords(plugins);
  RegisterRegression(plugins);
  RegisterText(plugins);
  RegisterTextClassification(plugins);
  RegisterTranslation(plugins);
}

Plugins BuiltInPlugins() {
  Plugins plugins;
  RegisterBuiltInPlugins(plugins);
  return plugins;
}

}  // namespace regard
