// A trained model to ask: the object that every program and every user of the
// library opens. Reads a run folder alone, but for data where they are needed:
// neither the corpus nor the lock of a run that may still go on.
//
//   ASSIGN_OR_RETURN(Run run, Run::Open("runs/phrasebook", plugins));
//   ASSIGN_OR_RETURN(Answered answer, run.Answer({.text = "i am sad ."}));
//   std::puts(answer.text.c_str());
#ifndef EXPERIMENTS_RUN_H_
#define EXPERIMENTS_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/trained_run.h"
#include "nn/forward.h"
#include "nn/model.h"
#include "nn/probe.h"
#include "nn/probes/configured_probe.h"

namespace regard {

struct RunOptions {
  // Reads the data, too, which examples and evaluations need. Of those that are
  // not there without it, nothing is read where the run has kept enough.
  bool data = false;
  // "PATH=VALUE", of fields of `data` and `search`: other data, and how it is
  // to search.
  std::vector<std::string> overrides = {};
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
  // What the user should know: damaged checkpoints that were passed over.
  const std::vector<std::string>& notes() const { return record_->notes; }

  Task& task() const { return *task_; }
  // The model, if it is of this type, else null. What a program asks of one
  // kind of model alone, it asks of this.
  template <typename M>
  M* model() const {
    return dynamic_cast<M*>(&task_->model());
  }
  // Without gradients; with the interventions of the config that evaluations
  // have.
  Forward<float>& forward() const { return *forward_; }

  // Answers one question. `probe`, which may be null, watches the passes that
  // answer: several where a text is written word by word. An error is about the
  // question.
  absl::StatusOr<Answered> Answer(const Question& question,
                                  const AnswerOptions& options = {},
                                  Probe<float>* probe = nullptr) const;

 private:
  Run(TrainedRun record, std::unique_ptr<Task> task);

  std::unique_ptr<const TrainedRun> record_;
  std::unique_ptr<Task> task_;
  // Null if the config asks nothing of sites.
  std::unique_ptr<ConfiguredProbe<float>> configured_;
  std::unique_ptr<Tape<float>> tape_;
  std::unique_ptr<Forward<float>> forward_;
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_H_
