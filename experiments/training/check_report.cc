#include "experiments/training/check_report.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "evaluation/statistics.h"
#include "experiments/experiment.pb.h"
#include "experiments/training/batch_plan.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "nn/parameters.h"
#include "optimization/model.h"

namespace regard {

namespace {

// Returns the name of the member that is set in the only oneof of a config.
std::string ChoiceOf(const google::protobuf::Message& config) {
  const auto* const field = config.GetReflection()->GetOneofFieldDescriptor(
      config, config.GetDescriptor()->oneof_decl(0));
  return field == nullptr ? "" : std::string(field->name());
}

// Returns the name of the module that contains a parameter, such as
// "encoder.layers" for "encoder.layers.0.weight". It ends before the second
// dot, or before the first if the name has only one or two dots.
std::string ModuleOf(absl::string_view name) {
  const size_t first = name.find('.');
  const size_t second = first == name.npos ? first : name.find('.', first + 1);
  return std::string(name.substr(0, second == name.npos ? first : second));
}

// Returns the modules and their numbers of parameters, in the order of
// `parameters`.
std::vector<std::pair<std::string, int64_t>> Modules(
    const ParameterStore<float>& parameters) {
  std::vector<std::pair<std::string, int64_t>> modules;
  for (const ParameterInfo& parameter : parameters.parameters()) {
    std::string module = ModuleOf(parameter.name);
    if (modules.empty() || modules.back().first != module) {
      modules.emplace_back(std::move(module), 0);
    }
    modules.back().second += parameter.size();
  }
  return modules;
}

void AppendLine(absl::string_view label, absl::string_view text,
                std::string* report) {
  absl::StrAppendFormat(report, "%-10s %s\n", label, text);
}

std::string StepsOf(const Experiment& config, Model<float>& model) {
  const BatchPlan plan(config, model);
  return absl::StrCat(plan.total_updates(), " optimizer steps, ",
                      plan.updates_per_epoch(), " per epoch");
}

}  // namespace

std::string ConfigCheckReport(const LoadedConfig& loaded, Task& task,
                              Task* baseline) {
  const Experiment& config = loaded.config;
  Model<float>& model = task.model();
  std::string report;
  AppendLine("name", config.name(), &report);
  AppendLine("model",
             absl::StrCat(ChoiceOf(config.model()), ", ",
                          model.parameters().num_elements(), " parameters"),
             &report);
  for (const auto& [module, size] : Modules(model.parameters())) {
    AppendLine("", absl::StrFormat("  %-40s %d", module, size), &report);
  }
  std::string sizes = absl::StrCat(ChoiceOf(config.data()), ", ",
                                   model.num_examples(), " training examples");
  for (const Task::EvaluatedSplitSize& data : task.EvaluatedSplitSizes()) {
    absl::StrAppend(&sizes, ", ", data.split, " ", data.size, " ", data.unit);
  }
  AppendLine("data", sizes, &report);
  AppendLine("steps", StepsOf(config, model), &report);
  AppendLine(
      "baseline",
      baseline == nullptr
          ? "none"
          : absl::StrCat(config.baseline().name(), ", ",
                         baseline->model().parameters().num_elements(),
                         " parameters, ",
                         StepsOf(loaded.baseline->config, baseline->model()),
                         "; to train no baseline: --set baseline.override=[]"),
      &report);
  AppendLine("seeds",
             absl::StrCat("at least ", SeedsForSignificance(/*comparisons=*/1),
                          " for a p-value of at most ", kSignificanceLevel,
                          ", and one more for each doubling of the number of "
                          "comparisons"),
             &report);
  return report;
}

}  // namespace regard
