#include "tools/peers/training_work.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "optimization/optimizer.h"

namespace regard {

namespace {

constexpr double kLearningRate = 1e-3;

constexpr double kMaxNorm = 1;

}  // namespace

struct TrainingWork::Worker {
  Worker(const ParameterStore<float>& parameters, size_t terms)
      : forward(tape, parameters, nullptr), sums(terms), seeds(terms) {}

  Tape<float> tape;
  Forward<float> forward;
  std::vector<Var<float>> sums;
  std::vector<double> seeds;
};

TrainingWork::TrainingWork(std::unique_ptr<Model<float>> model, int shards,
                           int threads, bool update)
    : model_(std::move(model)),
      update_(update),
      pool_(std::min(threads, shards)),
      examples_(static_cast<size_t>(model_->num_examples())),
      denominators_(model_->loss_terms().size()),
      reducer_(model_->parameters(), shards, /*accumulate_batches=*/1, pool_),
      shard_losses_(static_cast<size_t>(shards)),
      optimizer_({}, model_->parameters()) {
  std::iota(examples_.begin(), examples_.end(), 0);
  for (int i = 0; i < reducer_.num_workers(); ++i) {
    workers_.push_back(std::make_unique<Worker>(model_->parameters(),
                                                model_->loss_terms().size()));
  }
}

TrainingWork::~TrainingWork() = default;

void TrainingWork::ComputeShard(int shard, Worker& worker,
                                GradientSlab<float>& gradients) {
  FlushDenormalsToZero();
  const size_t size = examples_.size();
  const auto index = static_cast<size_t>(shard);
  const size_t begin = size * index / shard_losses_.size();
  const size_t end = size * (index + 1) / shard_losses_.size();
  const auto examples =
      absl::MakeConstSpan(examples_).subspan(begin, end - begin);
  worker.forward.set_gradients(&gradients);
  worker.forward.BeginStep();
  worker.tape.set_training(true);
  model_->Loss(worker.forward, examples, denominators_,
               absl::MakeSpan(worker.sums));
  double loss = 0;
  for (size_t i = 0; i < worker.sums.size(); ++i) {
    worker.seeds[i] = model_->loss_terms()[i].weight / denominators_[i];
    loss += static_cast<double>(worker.sums[i].item()) * worker.seeds[i];
  }
  shard_losses_[index] = loss;
  worker.forward.Backward(worker.sums, worker.seeds);
}

void TrainingWork::Step() {
  model_->Denominators(examples_, absl::MakeSpan(denominators_));
  reducer_.AddBatch(
      [this](int worker, int shard, GradientSlab<float>& gradients) {
        ComputeShard(shard, *workers_[static_cast<size_t>(worker)], gradients);
      });
  if (!update_) return;
  optimizer_.Update(
      {.learning_rate = kLearningRate,
       .clip_factor = ClipFactor(reducer_.gradient_norm(), kMaxNorm),
       .gradient = reducer_.gradient()},
      pool_);
}

std::vector<double> TrainingWork::NumbersToCompare() {
  const auto loss = [this] {
    return std::accumulate(shard_losses_.begin(), shard_losses_.end(), 0.0);
  };
  Step();
  const double first = loss();
  if (!update_) return {first, reducer_.gradient_norm()};
  for (int i = 0; i < 4; ++i) Step();
  return {first, loss()};
}

}  // namespace regard
