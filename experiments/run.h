// A trained model to ask: the object that every program and every user of the
// library opens. Reads a run folder alone, but for data where they are needed:
// neither the corpus nor the lock of a run that may still go on.
//
//   REGARD_ASSIGN_OR_RETURN(Run run, Run::Open("runs/phrasebook", plugins));
//   REGARD_ASSIGN_OR_RETURN(Answered answer, run.Answer({.text = "i am ."}));
//   std::puts(answer.text.c_str());
#ifndef EXPERIMENTS_RUN_H_
#define EXPERIMENTS_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "attention/inspection/trace.h"
#include "autodiff/tape.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/trained_run.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/probe.h"
#include "optimization/interventions/configured_probe.h"
#include "optimization/model.h"

namespace regard {

class Experiment;

// The field that says how far apart the windows of a language model's
// evaluation begin: the only one of a model that can be set of a trained one.
inline constexpr char kEvaluationStride[] =
    "model.language_model.evaluation_stride";

struct RunOptions {
  // Reads the data, too, which examples and evaluations need. Of those that are
  // not there without it, nothing is read where the run has kept enough.
  bool data = false;
  // "PATH=VALUE", of fields of `data`, `search` and `intervene`: other data,
  // how it is to search, and what it is to compute with in place of its values;
  // and of kEvaluationStride.
  std::vector<std::string> overrides = {};
};

// What of the training data a pass is over, and how.
struct TrainingPass {
  std::vector<int64_t> examples;  // of 0 .. num_examples() - 1 of the model
  // As the update after so many computes it: with its dropout and the
  // interventions of training. Without: as an evaluation does.
  std::optional<int64_t> step = std::nullopt;
};

struct PassLosses {
  double loss = 0;  // that training minimises
  // By the names of the model's terms: each divided by its denominator.
  std::map<std::string, double> terms = {};
};

class Run {
 public:
  // The newest whole checkpoint of the run in `folder`, a path as the user gave
  // it. Errors are complete to print: InvalidArgument, or what reading a file
  // gave. `plugins` has the run's task.
  static absl::StatusOr<Run> Open(absl::string_view folder,
                                  const Plugins& plugins,
                                  const RunOptions& options = {});

  const std::string& path() const { return record_->path; }
  // With the overrides.
  const Experiment& config() const { return record_->config; }
  int64_t step() const { return record_->step; }  // of the weights
  // What the user should know: damaged checkpoints that were passed over, data
  // that have changed since the training.
  const std::vector<std::string>& notes() const { return record_->notes; }

  Task& task() const { return *task_; }
  // The model, if it is of this type, else null. What a program asks of one
  // kind of model alone, it asks of this.
  template <typename M>
  M* model() const {
    return dynamic_cast<M*>(&task_->model());
  }
  // Without gradients; with the interventions of the config that evaluations
  // have. The weights must not change: it keeps their layouts.
  regard::Forward<float>& forward() const { return *forward_; }

  // Answers one question. `probe`, which may be null, watches the passes that
  // answer: several where a text is written word by word. An error is about the
  // question.
  absl::StatusOr<Answered> Answer(const Question& question,
                                  const AnswerOptions& options = {},
                                  Probe<float>* probe = nullptr) const;

  // The losses of training examples, all in one shard, while `probe` watches;
  // it may be null. With `gradients`, a slab of the model's parameters, there
  // is a backward pass, which gradients of sites need, too. The numbers are
  // those of the trainer's update, where it has one shard. Needs
  // RunOptions::data.
  absl::StatusOr<PassLosses> Forward(
      const TrainingPass& pass, Probe<float>* probe = nullptr,
      GradientSlab<float>* gradients = nullptr) const;

  // What answering computes, to look at on forward(). The run outlives it.
  absl::StatusOr<Traced<float>> Trace(const Question& question,
                                      const TraceOptions& options = {}) const;

 private:
  Run(TrainedRun record, std::unique_ptr<Task> task);

  std::unique_ptr<const TrainedRun> record_;
  std::unique_ptr<Task> task_;
  // Null if the config asks nothing of sites.
  std::unique_ptr<ConfiguredProbe<float>> configured_;
  std::unique_ptr<Tape<float>> tape_;
  std::unique_ptr<regard::Forward<float>> forward_;
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_H_
