#include "experiments/tasks/loss_metric.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace regard {

namespace {

constexpr char kLoss[] = "dev/loss";

}  // namespace

void ReplaceLossMetric(const Plugins& plugins, Experiment& config,
                       ConfigProblems& problems) {
  const TaskInfo* const task = plugins.tasks.Find(config.model());
  if (task == nullptr) return;
  std::string loss;
  for (const MetricInfo& metric : task->metrics) {
    const std::string name = absl::StrCat("dev/", metric.name);
    if (name == kLoss) return;
    if (loss.empty() && metric.better == Better::kLower) loss = name;
  }
  if (loss.empty()) return;
  const auto rename = [&](auto* options, absl::string_view path) {
    if (options->metric() != kLoss) return;
    options->set_metric(loss);
    problems.Note(path,
                  absl::StrCat("was changed to ", loss,
                               ", because this task does not measure ", kLoss));
  };
  if (config.training().has_early_stopping()) {
    rename(config.mutable_training()->mutable_early_stopping(),
           "training.early_stopping.metric");
  }
  if (config.training().initial_weights().has_metric()) {
    rename(config.mutable_training()->mutable_initial_weights(),
           "training.initial_weights.metric");
  }
  if (config.optimizer().schedule().has_reduce_on_plateau()) {
    rename(config.mutable_optimizer()
               ->mutable_schedule()
               ->mutable_reduce_on_plateau(),
           "optimizer.schedule.reduce_on_plateau.metric");
  }
}

}  // namespace regard
