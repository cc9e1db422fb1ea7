#include "tools/peers/training_work.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/optimizer.pb.h"

namespace regard {

namespace {

constexpr double kLearningRate = 1e-3;

OptimizerConfig AdamClippedToOne() {
  OptimizerConfig config;
  config.mutable_adam();
  config.set_clip_norm(1);
  return config;
}

}  // namespace

struct TrainingWork::Shard {
  Shard(const ParameterStore<float>& parameters, size_t terms)
      : gradients(parameters),
        forward(tape, parameters, &gradients),
        sums(terms),
        seeds(terms) {}

  Tape<float> tape;
  GradientSlab<float> gradients;
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
      optimizer_(AdamClippedToOne(), model_->parameters()) {
  std::iota(examples_.begin(), examples_.end(), 0);
  for (int i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(model_->parameters(),
                                              model_->loss_terms().size()));
    gradients_.push_back(&shards_.back()->gradients);
  }
}

TrainingWork::~TrainingWork() = default;

void TrainingWork::RunShard(int64_t index) {
  FlushDenormalsToZero();
  Shard& shard = *shards_[static_cast<size_t>(index)];
  const size_t size = examples_.size();
  const size_t begin = size * static_cast<size_t>(index) / shards_.size();
  const size_t end = size * static_cast<size_t>(index + 1) / shards_.size();
  const auto examples =
      absl::MakeConstSpan(examples_).subspan(begin, end - begin);
  shard.forward.BeginStep();
  shard.tape.set_training(true);
  model_->Loss(shard.forward, examples, denominators_,
               absl::MakeSpan(shard.sums));
  for (size_t i = 0; i < shard.sums.size(); ++i) {
    shard.seeds[i] = model_->loss_terms()[i].weight / denominators_[i];
  }
  shard.forward.Backward(shard.sums, shard.seeds);
}

void TrainingWork::Step() {
  model_->Denominators(examples_, absl::MakeSpan(denominators_));
  pool_.Run(static_cast<int64_t>(shards_.size()),
            [this](int64_t i) { RunShard(i); });
  optimizer_.BeginReduction(gradients_);
  pool_.Run(optimizer_.num_chunks(),
            [this](int64_t i) { optimizer_.ReduceChunk(i); });
  gradient_norm_ = optimizer_.BeginUpdate(kLearningRate).gradient_norm;
  if (!update_) return;
  pool_.Run(optimizer_.num_chunks(),
            [this](int64_t i) { optimizer_.UpdateChunk(i); });
}

double TrainingWork::loss() const {
  double loss = 0;
  for (const auto& shard : shards_) {
    for (size_t i = 0; i < shard->sums.size(); ++i) {
      loss += static_cast<double>(shard->sums[i].item()) * shard->seeds[i];
    }
  }
  return loss;
}

std::vector<double> TrainingWork::Check() {
  Step();
  const double first = loss();
  if (!update_) return {first, gradient_norm_};
  for (int i = 0; i < 4; ++i) Step();
  return {first, loss()};
}

}  // namespace regard
