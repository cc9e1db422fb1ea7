// Interface of a task: a model, its metrics, and the content of its reports. A
// task learns from the examples of a data source (data/data_source.h). Tasks
// and data sources are plug-ins: an options message, a class, and one line of
// registration (options/option_registry.h). See docs/add_a_task.md for a guide.
#ifndef EXPERIMENTS_TASKS_TASK_H_
#define EXPERIMENTS_TASKS_TASK_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "data/data_source.h"
#include "evaluation/prediction.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

class Experiment;
class Loss;

LossOptions LossOptionsOf(const Loss& loss);

// Arguments of a task other than its options and data.
struct TaskContext {
  const Experiment& config;
  const AttentionRegistry& scorers;
  // See ModelOptions. If this is false, a task that needs the values of its
  // parameters must set them itself.
  bool finalize = true;

  ModelOptions model_options() const;
};

// Texts that a task stored in a run folder; see Task::Files().
struct StoredFiles {
  std::string folder;  // name in messages
  ReadRunFile read;
  // The result of Task::TrainingDataNumbersToStore(). Empty in runs of earlier
  // programs.
  std::map<std::string, double> numbers = {};
};

// A trainable model with its data. The class of a plug-in defines
//   * `Options`,
//   * the type `Data` of its data source,
//   * a constructor from (const Options&, Data, const TaskContext&), and
//   * `static std::vector<MetricInfo> Metrics()`.
class Task {
 public:
  // Names of the members of ModelConfig that the task reads, other than its
  // options. A task with such members hides this array with its own array.
  static constexpr absl::Span<const char* const> kModelFields = {};
  // Whether the task reads Experiment.search.
  static constexpr bool kSearches = false;
  // Adds problems of the options, at paths relative to the options.
  static void Validate(const auto& options, const TaskContext&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }
  // Adds problems of the members in kModelFields, at paths relative to
  // ModelConfig.
  static void ValidateModelFields(const TaskContext&, ConfigProblems&) {}
  // A task may also declare the following function, if Files() contains all
  // that its model needs from the training data:
  //
  //   static absl::Status RestoreData(const TaskContext&, const AnyDataSource&,
  //                            const StoredFiles&, Data*);
  //
  // RestoreData() puts the stored files into the data, so that a trained model
  // makes predictions even if its data are missing. The data may be empty, or
  // differ from the training data. Error messages can be printed as they are.
  // Returns NotFound if the task needs the data themselves.

  // `metrics` lists every metric that the model reports, including terms of the
  // loss. `digests` is the SHA-256 of each data file, by the config field that
  // names the file. Notes() returns `notes`.
  explicit Task(std::vector<MetricInfo> metrics,
                std::map<std::string, std::string> digests = {},
                std::vector<std::string> notes = {})
      : metrics_(std::move(metrics)),
        digests_(std::move(digests)),
        notes_(std::move(notes)) {}
  virtual ~Task() = default;

  const std::vector<MetricInfo>& metrics() const { return metrics_; }

  virtual Model<float>& model() = 0;

  // Whether there is a dev split, which early stopping and schedules need.
  virtual bool has_dev() const { return false; }
  // Whether evaluations on dev measure this metric of metrics(), which may
  // depend on the options or the data. Only meaningful if there is a dev split.
  virtual bool MeasuresOnDev(const std::string&) const { return true; }

  // Whether evaluations on dev measure any metric.
  bool HasDevMetrics() const {
    return has_dev() && std::ranges::any_of(metrics_, [this](const auto& info) {
             return MeasuresOnDev(info.name);
           });
  }

  // The size of a split that is evaluated but not trained on.
  struct EvaluatedSplitSize {
    std::string split;  // "dev", "test"
    int64_t size = 0;
    const char* unit = "examples";
  };
  virtual std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const {
    return {};
  }

  // Adds problems that can only be found after the data were read, at paths in
  // the experiment.
  virtual void ValidateData(ConfigProblems& /*problems*/) const {}

  // Returns the content of reports. `forward` has no gradients. If `final` is
  // false, training continues, so the task omits slow computations.
  virtual Showcase Show(Forward<float>& forward, bool final) const = 0;

  // Returns the texts that a trained model needs, such as vocabularies, by file
  // name in the run folder.
  virtual std::map<std::string, std::string> Files() const { return {}; }

  // Returns the numbers about the training data that a trained model needs, by
  // name in run.json.
  virtual std::map<std::string, double> TrainingDataNumbersToStore() const {
    return {};
  }

  // Whether the weights can only be used if this file of Files() is unchanged,
  // as for a vocabulary. If false, a run can begin with the weights even if its
  // file differs.
  virtual bool WeightsDependOn(const std::string& /*file*/) const {
    return true;
  }

  // Returns the prediction for one request. An error states what is wrong with
  // the request and what is required. `forward` has no gradients. If it has a
  // hook, the hook observes the forward passes of the prediction.
  virtual absl::StatusOr<Prediction> Predict(
      Forward<float>& /*forward*/, const PredictionRequest& /*request*/,
      const PredictionOutputLimits&) const {
    return absl::InvalidArgumentError(
        "the task of this run cannot predict: it does not implement Predict(); "
        "see docs/add_a_task.md");
  }
  // Traces the computation of a prediction for inspection; see
  // attention/inspection/inspection.h. Returns the same errors as Predict(). An
  // error about the output to explain begins with "target".
  virtual absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& /*forward*/, const PredictionRequest& /*request*/,
      const TraceOptions&) const {
    return absl::InvalidArgumentError(
        "the task of this run cannot be inspected: it does not implement "
        "Trace(); see docs/add_a_task.md");
  }

  // Returns warnings about the data, one sentence each.
  virtual std::vector<std::string> Notes() const { return notes_; }

  // Returns the signatures of metrics that have several definitions, by the
  // name of the metric with the split as prefix. An example for BLEU is
  // "nrefs:1|case:mixed|tok:13a|...".
  virtual std::map<std::string, std::string> Signatures() const { return {}; }

  const std::map<std::string, std::string>& data_digests() const {
    return digests_;
  }

 protected:
  void AddDigest(const std::string& field, const std::string& digest) {
    digests_[field] = digest;
  }
  static std::vector<EvaluatedSplitSize> DevAndTestSizes(const auto& splits) {
    return {{"dev", static_cast<int64_t>(splits.dev.size())},
            {"test", static_cast<int64_t>(splits.test.size())}};
  }
  // Returns the split that reports show, and its name. This is test, or dev if
  // test is empty, or training if dev is empty, too.
  static auto ShownSplit(const auto& splits) {
    if (splits.test.size() > 0) return std::pair(&splits.test, "test");
    if (splits.dev.size() > 0) return std::pair(&splits.dev, "dev");
    return std::pair(&splits.train, "training");
  }

 private:
  const std::vector<MetricInfo> metrics_;
  std::map<std::string, std::string> digests_;
  const std::vector<std::string> notes_;
};

}  // namespace regard

#endif  // EXPERIMENTS_TASKS_TASK_H_
