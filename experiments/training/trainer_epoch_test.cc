// The trainer says which epoch the examples are of.
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/training/trainer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/model.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// One weight, which is the loss. Notes the epoch (-1: none) wherever examples
// are asked for.
class EpochTask : public Task, public Model<float> {
 public:
  EpochTask() : Task({}) {
    weight_ = store_.Root().Add("weight", {}, Constant(0));
    store_.Finalize(0);
  }

  const std::vector<int64_t>& of_lengths() const { return of_lengths_; }
  const std::vector<int64_t>& of_updates() const { return of_updates_; }
  const std::vector<int64_t>& of_evaluations() const { return of_evaluations_; }

  Model<float>& model() override { return *this; }
  Showcase Show(Forward<float>&, bool) const override { return {}; }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return 4; }
  void BeginEpoch(std::optional<int64_t> epoch) override {
    epoch_ = epoch.value_or(-1);
  }
  SequenceLengths Lengths(int64_t) const override {
    of_lengths_.push_back(epoch_);
    return {1, 1};
  }
  int64_t CountWork(absl::Span<const int64_t> examples) const override {
    return static_cast<int64_t>(examples.size());
  }
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  void Denominators(absl::Span<const int64_t>,
                    absl::Span<double> denominators) const override {
    of_updates_.push_back(epoch_);
    denominators[0] = 1;
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t>,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    sums[0] = forward[weight_];
  }
  void Evaluate(Forward<float>&, Split split,
                std::vector<Measurement>*) const override {
    if (split == Split::kTrain) of_evaluations_.push_back(epoch_);
  }

 private:
  ParameterStore<float> store_;
  Parameter<float> weight_;
  const LossTerm terms_[1] = {{"loss", 1}};
  int64_t epoch_ = 7;
  mutable std::vector<int64_t> of_lengths_;
  mutable std::vector<int64_t> of_updates_;
  mutable std::vector<int64_t> of_evaluations_;
};

TEST(TrainerEpochTest, UpdatesAreOfTheirEpochPlansAndEvaluationsOfNone) {
  Experiment config;
  config.mutable_optimizer()->mutable_sgd();
  config.mutable_training()->set_batch_size(2);
  config.mutable_training()->set_epochs(3);
  config.mutable_training()->set_group_by_length(true);
  EpochTask task;
  EXPECT_EQ(Trainer::TotalSteps(config, task), 6);
  EXPECT_THAT(task.of_lengths(), ElementsAre(-1, -1, -1, -1));
  Trainer trainer(config, task, BuiltInPlugins(), {}, {.threads = 1});
  ASSERT_TRUE(trainer.Run().ok());
  EXPECT_THAT(task.of_updates(), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(task.of_evaluations(), ElementsAre(-1));
  // A second trainer plans the same batches.
  EXPECT_EQ(Trainer::TotalSteps(config, task), 6);
  EXPECT_EQ(task.of_lengths().back(), -1);
}

}  // namespace
}  // namespace regard
