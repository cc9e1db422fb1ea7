#include "optimization/model.h"

#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// Predicts one number, w, for every example. The loss is the squared error. A
// second parameter is unused.
class FakeModel : public Model<double> {
 public:
  explicit FakeModel(std::vector<double> targets)
      : targets_(std::move(targets)) {
    unused_ = store_.Root().Add("unused", {3}, Constant(4));
    prediction_ = store_.Root().Add("prediction", {}, Constant(1));
    store_.Finalize(0);
  }

  ParameterStore<double>& parameters() override { return store_; }
  int64_t num_examples() const override {
    return static_cast<int64_t>(targets_.size());
  }
  absl::Span<const LossTerm> loss_terms() const override {
    static constexpr LossTerm kTerms[] = {{"loss", 1.0}};
    return kTerms;
  }
  void Loss(Forward<double>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double>,
            absl::Span<Var<double>> sums) const override {
    const Var<double> w = forward[prediction_];
    Tape<double>& tape = forward.tape();
    const Var<double> targets =
        tape.Constant({static_cast<int64_t>(examples.size())});
    const Var<double> sum = tape.New({}, w.needs_grad());
    *sum.data() = 0;
    for (size_t i = 0; i < examples.size(); ++i) {
      targets.data()[i] = targets_[examples[i]];
      *sum.data() +=
          (w.item() - targets.data()[i]) * (w.item() - targets.data()[i]);
    }
    tape.Record("SquaredError", sum, [=] {
      if (auto d = w.grad_ref()) {
        double total = 0;
        for (const double target : targets.span()) total += w.item() - target;
        d.AddEach([=](int64_t) { return 2 * total * *sum.grad_data(); });
      }
    });
    sums[0] = sum;
  }
  std::vector<EvaluatedSet> Evaluate(Forward<double>& forward,
                                     Split split) const override {
    if (split != Split::kTrain) return {};
    forward.BeginStep();
    return {{.totals = {{"prediction", forward[prediction_].item()}}}};
  }

 private:
  std::vector<double> targets_;
  ParameterStore<double> store_;
  Parameter<double> unused_;
  Parameter<double> prediction_;
};

// Returns the gradient of the batch's loss, computed as the trainer does.
double GradientInShards(FakeModel& model,
                        std::vector<std::vector<int64_t>> shards) {
  std::vector<int64_t> batch;
  for (const auto& shard : shards) {
    batch.insert(batch.end(), shard.begin(), shard.end());
  }
  double denominator;
  model.Denominators(batch, absl::MakeSpan(&denominator, 1));
  double total = 0;
  for (const auto& shard : shards) {
    Tape<double> tape;
    GradientSlab<double> gradients(model.parameters());
    Forward<double> forward(tape, model.parameters(), &gradients);
    forward.BeginStep();
    Var<double> sum;
    model.Loss(forward, shard, {denominator}, absl::MakeSpan(&sum, 1));
    forward.Backward({sum}, {model.loss_terms()[0].weight / denominator});
    EXPECT_FALSE(gradients.touched(0));
    EXPECT_TRUE(gradients.touched(1));
    const Parameter<double> prediction = {1, &model.parameters()};
    total += model.parameters().Segment(gradients.values(), prediction)[0];
  }
  return total;
}

TEST(ModelTest, TheLossDoesNotDependOnTheShards) {
  FakeModel model({2, 4, 9});
  // The derivative of mean((w - t)^2) at w = 1 is 2 * (-1 - 3 - 8) / 3.
  EXPECT_DOUBLE_EQ(GradientInShards(model, {{0, 1, 2}}), -8);
  EXPECT_DOUBLE_EQ(GradientInShards(model, {{0}, {1, 2}}), -8);
}

TEST(ModelTest, AnEvaluationRecordsNothing) {
  FakeModel model({2});
  Tape<double> tape;
  Forward<double> forward(tape, model.parameters(), nullptr);
  const std::vector<EvaluatedSet> sets = model.Evaluate(forward, Split::kTrain);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].totals.at("prediction"), 1);
  EXPECT_TRUE(model.Evaluate(forward, Split::kTest).empty());
  EXPECT_EQ(tape.records(), 0u);
}

TEST(ForwardTest, AFrozenParameterGetsNoGradient) {
  ParameterStore<double> store;
  const Parameter<double> frozen =
      store.Root().Add("frozen", {2}, Constant(3), {.trainable = false});
  store.Finalize(0);
  Tape<double> tape;
  GradientSlab<double> gradients(store);
  Forward<double> forward(tape, store, &gradients);
  forward.BeginStep();
  EXPECT_FALSE(forward[frozen].needs_grad());
  EXPECT_THAT(forward[frozen].span(), ElementsAre(3, 3));
}

TEST(ForwardTest, EveryStepStartsFromFreshGradients) {
  FakeModel model({2});
  Tape<double> tape;
  GradientSlab<double> gradients(model.parameters());
  Forward<double> forward(tape, model.parameters(), &gradients);
  for (int step = 0; step < 2; ++step) {
    forward.BeginStep();
    Var<double> sum;
    model.Loss(forward, {0}, {1.0}, absl::MakeSpan(&sum, 1));
    forward.Backward({sum}, {1.0});
    const ParameterStore<double>& store = model.parameters();
    EXPECT_EQ(store.Segment(gradients.values(), {1, &store})[0], -2);
  }
  // In this pass, no gradient reaches the parameter, so it must not be marked.
  forward.BeginStep();
  forward.Backward({}, {});
  EXPECT_FALSE(gradients.touched(1));
  EXPECT_THAT(gradients.values(), testing::Each(0));
}

TEST(ForwardDeathTest, LeavesExistFromBeginStepOn) {
  FakeModel model({2});
  Tape<double> tape;
  Forward<double> forward(tape, model.parameters(), nullptr);
  const Parameter<double> first = {0, &model.parameters()};
  EXPECT_DEATH(forward[first], "BeginStep");
}

}  // namespace
}  // namespace regard
