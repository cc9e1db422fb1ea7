// A trained model, opened from a run folder. Programs and users of the library
// make predictions with it. Does not lock the run folder, so the run may still
// be training. Reads the data only if they are needed; see
// OpenRunOptions::data.
//
//   REGARD_ASSIGN_OR_RETURN(Run run, Run::Open("runs/phrasebook", plugins));
//   REGARD_ASSIGN_OR_RETURN(auto prediction, run.Predict({.text = "i am ."}));
//   std::puts(prediction.text.c_str());
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
#include "nn/hook.h"
#include "nn/parameters.h"
#include "optimization/interventions/configured_hook.h"
#include "optimization/model.h"

namespace regard {

class Experiment;

// Path of the config field that sets the distance between the evaluation
// windows of a language model. The only model field that may be overridden for
// a trained model.
inline constexpr char kEvaluationStride[] =
    "model.language_model.evaluation_stride";

struct OpenRunOptions {
  // Whether to read the data. Required for training examples and evaluations.
  // If false, Regard reads the data only if the run folder lacks something that
  // the task needs.
  bool data = false;
  // Overrides of the form "PATH=VALUE" for fields of `data`, `search` and
  // `intervene`, and for kEvaluationStride. If there are any, the data are
  // read.
  std::vector<std::string> overrides = {};
  // The precision of matrix products. If nullopt, it is the precision in which
  // the run was trained.
  std::optional<Precision> precision = std::nullopt;
};

// The training examples of a forward pass, and the mode of the pass.
struct ForwardRequest {
  std::vector<int64_t> examples;  // indices in [0, num_examples())
  // The number of finished optimizer steps before the step to reproduce. The
  // pass uses the dropout and the interventions of that step. If absent, the
  // pass runs as in an evaluation.
  std::optional<int64_t> step = std::nullopt;
};

struct ForwardLosses {
  double loss = 0;  // the loss that training minimizes
  // The loss terms by name, each divided by its denominator.
  std::map<std::string, double> terms = {};
};

class Run {
 public:
  // Opens the newest valid checkpoint of the run in `folder`, a path as the
  // user typed it. `plugins` must contain the task of the run. Error messages
  // can be printed as they are. Their code is InvalidArgument, or the code of
  // the file that could not be read.
  static absl::StatusOr<Run> Open(absl::string_view folder,
                                  const Plugins& plugins,
                                  const OpenRunOptions& options = {});

  const std::string& path() const { return record_->path; }
  // The config of the run, with the overrides applied.
  const Experiment& config() const { return record_->config; }
  int64_t step() const { return record_->step; }  // the step of the weights
  // Warnings for the user, such as about damaged checkpoints that were ignored,
  // or about data that have changed since the training.
  const std::vector<std::string>& notes() const { return record_->notes; }

  Task& task() const { return *task_; }
  // Returns the model if its type is M, and null if not. Used for operations
  // that only one kind of model supports.
  template <typename M>
  M* model() const {
    return dynamic_cast<M*>(&task_->model());
  }
  // The forward pass of the trained weights, without gradients. Applies the
  // interventions that the config requests for evaluations. Caches packed
  // weights, so the weights must not change.
  regard::Forward<float>& forward() const { return *forward_; }

  // Returns the prediction for one request. `hook` observes all forward passes
  // of the prediction, and may be null. A generated text takes one pass per
  // token. Every error describes what is wrong with the request.
  absl::StatusOr<Prediction> Predict(const PredictionRequest& request,
                                     const PredictionOutputLimits& options = {},
                                     Hook<float>* hook = nullptr) const;

  // Returns the losses of training examples, computed as one shard. They equal
  // the trainer's losses of an optimizer step with one shard. `hook` observes
  // the pass, and may be null. If `gradients` is not null, it must belong to
  // the model's parameters, and a backward pass follows. A hook that requests
  // gradients requires `gradients`. Requires OpenRunOptions::data.
  absl::StatusOr<ForwardLosses> Forward(
      const ForwardRequest& pass, Hook<float>* hook = nullptr,
      GradientSlab<float>* gradients = nullptr) const;

  // Traces a prediction for inspection, in a pass of forward(). The result must
  // not outlive this run.
  absl::StatusOr<TraceablePrediction<float>> Trace(
      const PredictionRequest& request, const TraceOptions& options = {}) const;

 private:
  Run(TrainedRun record, std::unique_ptr<Task> task);

  std::unique_ptr<const TrainedRun> record_;
  std::unique_ptr<Task> task_;
  // Null if the config has neither interventions nor statistics of hook points.
  std::unique_ptr<ConfiguredHook<float>> configured_;
  std::unique_ptr<Tape<float>> tape_;
  std::unique_ptr<regard::Forward<float>> forward_;
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_H_
