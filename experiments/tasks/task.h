// What a new task is written with: a model with its metrics and what it shows
// of itself. It learns from the examples of a data source (data/data_source.h).
// Both are plug-ins: an options message, a class, and one line of registration
// (see options/option_registry.h). docs/add_a_task.md is the guide.
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
#include "evaluation/answer.h"
#include "experiments/report/run_results.h"
#include "experiments/run/metric.h"
#include "nn/forward.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

class Experiment;
class Loss;

LossOptions LossOptionsOf(const Loss& loss);

// What a task is made from besides its options and data.
struct TaskContext {
  const Experiment& config;
  const AttentionRegistry& scorers;
  // As in ModelOptions. A task that needs values has them nevertheless.
  bool finalize = true;

  ModelOptions model_options() const;
};

// The texts that a task kept in a run folder, see Task::Files().
struct KeptFiles {
  std::string folder;  // for messages
  ReadRunFile read;
  // As Task::TrainingDataNumbers() gave them; none in earlier runs.
  std::map<std::string, double> numbers = {};
};

// A task that is a plug-in has `Options`, `Data` (the type of a DataSource), a
// constructor from (const Options&, Data, const TaskContext&), and
// `static std::vector<MetricInfo> Metrics()`.
class Task {
 public:
  // The members of ModelConfig, besides its options, that the task reads; a
  // task declares its own as an array.
  static constexpr absl::Span<const char* const> kParts = {};
  // Whether the task reads Experiment.search.
  static constexpr bool kSearches = false;
  // Adds what is wrong with the options, under paths relative to them.
  static void Validate(const auto& options, const TaskContext&,
                       ConfigProblems& problems) {
    problems.CheckRanges(options);
  }
  // Adds what is wrong with the parts, under paths relative to ModelConfig.
  static void ValidateParts(const TaskContext&, ConfigProblems&) {}
  // A task whose Files() are all that its model needs of the training data
  // declares
  //
  //   static absl::Status Keep(const TaskContext&, const AnyDataSource&,
  //                            const KeptFiles&, Data*);
  //
  // which puts them into the data: into empty data, so that a trained model
  // answers where its data are missing, or into others than it was trained on.
  // An error is complete to print; NotFound if only the data can help.

  // Every metric that the model reports, loss terms included, and the SHA-256
  // of each data file, by the field that names it. `notes`: see Notes().
  explicit Task(std::vector<MetricInfo> metrics,
                std::map<std::string, std::string> digests = {},
                std::vector<std::string> notes = {})
      : metrics_(std::move(metrics)),
        digests_(std::move(digests)),
        notes_(std::move(notes)) {}
  virtual ~Task() = default;

  const std::vector<MetricInfo>& metrics() const { return metrics_; }

  virtual Model<float>& model() = 0;

  // Whether there is a dev split for early stopping and schedules to watch.
  virtual bool has_dev() const { return false; }
  // Whether evaluations on it, where it is, measure this one of metrics(): some
  // depend on the options or the data.
  virtual bool MeasuresOnDev(const std::string&) const { return true; }

  // Whether evaluations on dev measure anything at all.
  bool HasDevMetrics() const {
    return has_dev() && std::ranges::any_of(metrics_, [this](const auto& info) {
             return MeasuresOnDev(info.name);
           });
  }

  // The data besides those that are trained on.
  struct EvaluatedData {
    std::string split;  // "dev", "test"
    int64_t size = 0;
    const char* unit = "examples";
  };
  virtual std::vector<EvaluatedData> AllEvaluatedData() const { return {}; }

  // Adds what does not fit the data that was read, at paths in the experiment.
  virtual void ValidateData(ConfigProblems& /*problems*/) const {}

  // `forward` has no gradients. `final` is false for a glance during training,
  // which leaves out what takes long.
  virtual Showcase Show(Forward<float>& forward, bool final) const = 0;

  // Texts that later use needs, by name in the run folder: vocabularies.
  virtual std::map<std::string, std::string> Files() const { return {}; }

  // Numbers about the training data that later use needs, by name in run.json.
  virtual std::map<std::string, double> TrainingDataNumbers() const {
    return {};
  }

  // Whether weights mean something with this one of Files() only, as those of a
  // vocabulary do. Otherwise a run with another file can begin with them.
  virtual bool WeightsNeed(const std::string& /*file*/) const { return true; }

  // Answers one question. An error is about the question, and says what is
  // wrong with it and what is wanted. `forward` has no gradients; its probe, if
  // it has one, watches the passes that answer.
  virtual absl::StatusOr<Answered> Answer(Forward<float>& /*forward*/,
                                          const Question& /*question*/,
                                          const AnswerOptions&) const {
    return absl::InvalidArgumentError(
        "the task of this run cannot predict: it does not implement Answer(); "
        "see docs/add_a_task.md");
  }
  // What Answer() computes, so that it can be looked at; see
  // attention/inspection/inspection.h. The same errors; one about what is to be
  // explained begins with "target".
  virtual absl::StatusOr<Traced<float>> Trace(Forward<float>& /*forward*/,
                                              const Question& /*question*/,
                                              const TraceOptions&) const {
    return absl::InvalidArgumentError(
        "the task of this run cannot be inspected: it does not implement "
        "Trace(); see docs/add_a_task.md");
  }

  // What the user should know of the data, a sentence each.
  virtual std::vector<std::string> Notes() const { return notes_; }

  // How metrics that are computed in several ways are computed, by their
  // prefixed names: "nrefs:1|case:mixed|tok:13a|...".
  virtual std::map<std::string, std::string> Signatures() const { return {}; }

  const std::map<std::string, std::string>& data_digests() const {
    return digests_;
  }

 protected:
  void AddDigest(const std::string& field, const std::string& digest) {
    digests_[field] = digest;
  }
  static std::vector<EvaluatedData> DevAndTestOf(const auto& splits) {
    return {{"dev", static_cast<int64_t>(splits.dev.size())},
            {"test", static_cast<int64_t>(splits.test.size())}};
  }
  // The split that reports show, and its name: test, else dev, else training.
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
