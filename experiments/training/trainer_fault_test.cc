// Tests that the trainer names the operation that made a loss or gradient
// infinite or NaN.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/training/trainer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "optimization/ranks/ranks.h"
#include "optimization/testing/thread_ranks.h"

namespace regard {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

enum class Fault { kValue, kGradient, kOverflow, kSum };

// A task with one weight, which is 0, and one kind of fault:
//   * kValue: the loss of example 0 is the logarithm of the weight.
//   * kGradient: the loss of example 0 is the square root of the weight, whose
//     derivative is infinite.
//   * kOverflow: every derivative is finite, but the weight overflows.
//   * kSum: every derivative is finite, but their sum over shards overflows.
class FaultyTask : public Task, public Model<float> {
 public:
  explicit FaultyTask(Fault fault) : Task({}), fault_(fault) {
    weight_ = store_.Root().Add("weight", {}, Constant(0));
    store_.Finalize(0);
  }

  Model<float>& model() override { return *this; }
  Showcase Show(Forward<float>&, bool) const override { return {}; }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return 8; }
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  void Denominators(absl::Span<const int64_t>,
                    absl::Span<double> denominators) const override {
    denominators[0] = 1;
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    const Var<float> weight = forward[weight_];
    if (fault_ == Fault::kOverflow || fault_ == Fault::kSum) {
      sums[0] = weight * (fault_ == Fault::kSum ? 3e38f : 1e33f);
    } else if (std::count(examples.begin(), examples.end(), 0) == 0) {
      sums[0] = weight * 2.0f;
    } else if (fault_ == Fault::kGradient) {
      sums[0] = Sqrt(weight);
    } else {
      sums[0] = Log(weight);
    }
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 private:
  const Fault fault_;
  ParameterStore<float> store_;
  Parameter<float> weight_;
  const LossTerm terms_[1] = {{"loss", 1}};
};

// Trains, and returns the error message. `seed` determines the order of the
// examples.
std::string MessageOf(Fault fault, int accumulate_batches, uint64_t seed,
                      Ranks* ranks = nullptr, int epochs = 1,
                      int evaluate_every = 1) {
  Experiment config;
  config.set_seed(seed);
  config.mutable_optimizer()->mutable_sgd();
  config.mutable_optimizer()->set_learning_rate(1e6);
  config.mutable_optimizer()->set_accumulate_batches(accumulate_batches);
  config.mutable_training()->set_batch_size(8 / accumulate_batches);
  config.mutable_training()->set_epochs(epochs);
  config.mutable_training()->set_evaluate_every(evaluate_every);
  config.mutable_training()->set_checkpoint_every(1);
  FaultyTask task(fault);
  Trainer trainer(config, task, BuiltInPlugins(),
                  {.threads = 1, .ranks = ranks});
  TrainingCallbacks callbacks;
  callbacks.evaluated = [](const auto&) {
    return absl::UnknownError("evaluated");
  };
  callbacks.checkpointed = [](const auto&) {
    return absl::UnknownError("saved");
  };
  const absl::StatusOr<int> result = trainer.Run(std::move(callbacks));
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  return std::string(result.status().message());
}

TEST(TrainerFaultTest, NamesTheOperation) {
  EXPECT_THAT(MessageOf(Fault::kValue, 1, 0),
              AllOf(HasSubstr("step 1, shard"), HasSubstr("value of Log")));
  EXPECT_THAT(
      MessageOf(Fault::kGradient, 1, 0),
      AllOf(HasSubstr("step 1, shard"), HasSubstr("gradient made by Sqrt")));
}

// Depending on the seed, the faulty example 0 is in the first or in a later
// batch of the optimizer step.
TEST(TrainerFaultTest, NamesTheOperationInAnyBatchOfAnUpdate) {
  for (const int batches : {2, 4}) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      EXPECT_THAT(
          MessageOf(Fault::kGradient, batches, seed),
          AllOf(HasSubstr("step 1, batch"), HasSubstr("gradient made by Sqrt")))
          << "seed " << seed;
      EXPECT_THAT(MessageOf(Fault::kValue, batches, seed),
                  HasSubstr("value of Log"))
          << "seed " << seed;
    }
  }
}

// A weight that overflows must be found in the middle and at the end of
// training.
TEST(TrainerFaultTest, WeightsThatOverflowAreNeitherMeasuredNorSaved) {
  for (const auto& [epochs, evaluate_every] :
       {std::pair(2, 1), std::pair(2, 0), std::pair(1, 1)}) {
    EXPECT_EQ(
        MessageOf(Fault::kOverflow, 1, 0, /*ranks=*/nullptr, epochs,
                  evaluate_every),
        "step 1: the optimizer made 'weight' overflow at the learning rate "
        "1e+06; lower optimizer.learning_rate, or set "
        "optimizer.clip_norm");
  }
}

TEST(TrainerFaultTest, SaysThatNoOperationHasAFault) {
  EXPECT_EQ(MessageOf(Fault::kSum, 1, 0),
            "step 1: every value and every gradient is finite, but the loss or "
            "the gradient's norm is not: a sum or a square overflows");
}

// A rank that has not computed the faulty shard must name the operation, too.
TEST(TrainerFaultTest, AllRanksNameTheSameOperation) {
  for (const Fault fault :
       {Fault::kValue, Fault::kGradient, Fault::kOverflow}) {
    const std::string expected = MessageOf(fault, 2, 0);
    RunRanks(2, [&](Ranks& ranks) {
      EXPECT_EQ(MessageOf(fault, 2, 0, &ranks), expected);
    });
  }
}

}  // namespace
}  // namespace regard
