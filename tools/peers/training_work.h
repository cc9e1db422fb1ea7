// The workload of training steps. A step computes the losses of the shards,
// reduces and clips the gradients, and updates the weights.
#ifndef TOOLS_PEERS_TRAINING_WORK_H_
#define TOOLS_PEERS_TRAINING_WORK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "autodiff/worker_pool.h"
#include "optimization/gradient_reducer.h"
#include "optimization/model.h"
#include "optimization/optimizers/adam.h"
#include "tools/peers/timed_work.h"

namespace regard {

class TrainingWork : public TimedWork {
 public:
  // A step uses all examples of the model, divided into `shards` shards. If
  // `update` is false, a step ends with the reduced gradient.
  TrainingWork(std::unique_ptr<Model<float>> model, int shards, int threads,
               bool update);
  ~TrainingWork() override;

  ParameterStore<float>& parameters() override { return model_->parameters(); }
  std::vector<double> NumbersToCompare() override;
  void Step() override;

 private:
  struct Worker;

  void ComputeShard(int shard, Worker& worker, GradientSlab<float>& gradients);

  const std::unique_ptr<Model<float>> model_;
  const bool update_;
  WorkerPool pool_;
  std::vector<int64_t> examples_;
  std::vector<double> denominators_;
  GradientReducer<float> reducer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<double> shard_losses_;
  Adam<float> optimizer_;
};

}  // namespace regard

#endif  // TOOLS_PEERS_TRAINING_WORK_H_
