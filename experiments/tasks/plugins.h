// The plug-ins of a program: scores, optimizers, schedules, data sources and
// tasks. A plug-in from another repository registers itself with
// REGARD_PLUGINS.
//
//   REGARD_PLUGINS(Sorting) {
//     plugins.data.Add<RandomNumbers>("numbers and the same in order");
//     plugins.tasks.Add<SortingTask>("sorts by attention");
//   }
#ifndef EXPERIMENTS_TASKS_PLUGINS_H_
#define EXPERIMENTS_TASKS_PLUGINS_H_

#include <any>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "data/data_source.h"
#include "experiments/run/metric.h"
#include "experiments/tasks/task.h"
#include "optimization/evaluated_set.h"
#include "optimization/optimizer_registry.h"
#include "options/config_problems.h"
#include "options/option_registry.h"

namespace regard {

class ModelConfig;

struct TaskInfo : PluginInfo<TaskContext> {
  std::string data;  // name of the data type on which the task trains
  const std::type_info* data_type;
  // Names of the members of ModelConfig that the task reads.
  absl::Span<const char* const> model_fields;
  bool searches;  // whether it reads Experiment.search
  std::vector<MetricInfo> metrics;
  void (*validate_model_fields)(const TaskContext& context,
                                ConfigProblems& problems);
  // Calls RestoreData() of the task. Null if the task does not declare
  // RestoreData(). Creates empty data if `data` is empty.
  absl::Status (*keep)(const TaskContext& context, const AnyDataSource& source,
                       const StoredFiles& files, std::any& data);
  PluginFactory<Task, std::any, const TaskContext&> create;

  template <typename Plugin>
  void Describe() {
    using Data = typename Plugin::Data;
    data = Data::kName;
    data_type = &typeid(Data);
    model_fields = Plugin::kModelFields;
    searches = Plugin::kSearches;
    metrics = Plugin::Metrics();
    validate_model_fields = &Plugin::ValidateModelFields;
    keep = nullptr;
    if constexpr (requires { &Plugin::RestoreData; }) {
      keep = [](const TaskContext& context, const AnyDataSource& source,
                const StoredFiles& files, std::any& any) {
        if (!any.has_value()) any = Data();
        return Plugin::RestoreData(context, source, files,
                                   std::any_cast<Data>(&any));
      };
    }
  }
};

class TaskRegistry : public PluginRegistry<ModelConfig, TaskInfo> {
 public:
  TaskRegistry();

  template <typename Plugin>
  void Add(absl::string_view description) {
    // Converts the untyped data to the data type of the task.
    struct OfAnyData : Plugin {
      OfAnyData(const typename Plugin::Options& options, std::any data,
                const TaskContext& context)
          : Plugin(options,
                   std::any_cast<typename Plugin::Data&&>(std::move(data)),
                   context) {}
    };
    PluginRegistry::Add<OfAnyData>(description);
  }
};

struct Plugins {
  AttentionRegistry scorers;
  OptimizerRegistry optimizers;
  ScheduleRegistry schedules;
  DataSourceRegistry data;
  TaskRegistry tasks;
  // The functions that aggregate metrics per example into a metric of a set.
  // Programs that read the runs of these tasks need them.
  Aggregates aggregates = {{kRatio.name, &kRatio}};
  // SHA-256 of the code that computes, including these plug-ins. Empty in
  // tests, because their main() cannot compute it.
  std::string compute_digest = {};
};

// Begins the definition of `void RegisterNAMEInPlugins(regard::Plugins&
// plugins)`, in any namespace. The rule regard_binary(tasks = [...]) calls this
// function, so NAME must match the name of the target.
#define REGARD_PLUGINS(name)                                     \
  extern "C" void Register##name##InPlugins(::regard::Plugins&); \
  void Register##name##InPlugins(::regard::Plugins& plugins)

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_PLUGINS_H_
