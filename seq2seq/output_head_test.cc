// Tests logits, losses and scores of heads with their own weight or a shared
// weight.
#include "seq2seq/output_head.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "autodiff/ops/loss.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"

namespace regard {
namespace {

template <typename T>
void Spread(ParameterStore<T>& store) {
  const RandomStream random(5, "values");
  for (size_t i = 0; i < store.values().size(); ++i) {
    store.values()[i] = static_cast<T>(2 * random.UniformAt(i) - 1);
  }
}

TEST(LinearHeadTest, LogitsAreTheAffineMap) {
  ParameterStore<double> store;
  const LinearHead<double> head(store.Root().Sub("output"), 2, 3,
                                LinearOptions());
  store.Finalize(1);
  const std::vector<double> weight = {1, 2, 3, 4, 5, 6};
  const std::vector<double> bias = {10, 20, 30};
  std::copy(weight.begin(), weight.end(),
            store.value(*store.FindByName("output.weight")).begin());
  std::copy(bias.begin(), bias.end(),
            store.value(*store.FindByName("output.bias")).begin());
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  forward.BeginStep();
  const Var<double> logits =
      head.Logits(forward, tape.Constant({1, 1, 2}, {1, -1}));
  EXPECT_EQ(logits.shape(), Shape({1, 1, 3}));
  EXPECT_EQ(logits.data()[0], 9);
  EXPECT_EQ(logits.data()[1], 19);
  EXPECT_EQ(logits.data()[2], 29);
  EXPECT_EQ(head.vocabulary(), 3);
}

// An embedding and a head that shares its weight. Each word predicts itself.
struct Tied {
  Tied()
      : embedding(store.Root().Sub("embedding"), 6, 3),
        head(store.Root().Sub("output"), embedding.weight(),
             /*bias=*/false) {
    store.Finalize(1);
    Spread(store);
  }

  Var<double> Loss(Forward<double>& forward) const {
    forward.BeginStep();
    const std::vector<int32_t> ids = {5, 0, 4, 5};
    const std::vector<int32_t> targets = {4, 0, Vocabulary::kPad, 5};
    return head.Loss(forward, embedding(forward, ids, {2, 2}), targets, 0.1);
  }

  ParameterStore<double> store;
  EmbeddingLayer<double> embedding;
  LinearHead<double> head;
};

TEST(LinearHeadTest, ASharedWeightIsOneParameterOfTwoNames) {
  Tied tied;
  EXPECT_EQ(tied.store.num_elements(), 18);
  EXPECT_EQ(tied.head.vocabulary(), 6);
  EXPECT_TRUE(tied.store.FindByName("output.weight") ==
              tied.store.FindByName("embedding.weight"));
}

TEST(LinearHeadTest, ASharedWeightGetsTheGradientsOfBothUses) {
  Tied tied;
  GradientSlab<double> gradients(tied.store);
  Tape<double> tape;
  Forward<double> forward(tape, tied.store, &gradients);
  const Var<double> scalars[] = {tied.Loss(forward)};
  const double seeds[] = {1};
  forward.Backward(scalars, seeds);
  const std::vector<double> gradient(gradients.values().begin(),
                                     gradients.values().end());
  for (size_t i = 0; i < 18; ++i) {
    const double start = tied.store.values()[i];
    constexpr double kStep = 1e-5;
    tied.store.values()[i] = start + kStep;
    const double above = tied.Loss(forward).item();
    tied.store.values()[i] = start - kStep;
    const double below = tied.Loss(forward).item();
    tied.store.values()[i] = start;
    EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-8);
  }
}

class ScoreTokensTest : public ::testing::Test {
 protected:
  ScoreTokensTest()
      : head_(store_.Root(), 3, /*vocabulary=*/700, LinearOptions()) {
    store_.Finalize(1);
    Spread(store_);
    forward_.emplace(tape_, store_, nullptr);
    forward_->BeginStep();
  }

  Var<float> Readout(int64_t rows) {
    const RandomStream random(3, "readout");
    const Var<float> readout = tape_.Constant({rows, 3});
    for (int64_t i = 0; i < readout.size(); ++i) {
      readout.data()[i] =
          static_cast<float>(random.NormalAt(static_cast<uint64_t>(i)));
    }
    return readout;
  }

  ParameterStore<float> store_;
  LinearHead<float> head_;
  Tape<float> tape_;
  std::optional<Forward<float>> forward_;
};

TEST_F(ScoreTokensTest, EqualTheScoresOfAllLogitsAtOnce) {
  // The last of three blocks is not full.
  constexpr int64_t kRows = 4000;
  const Var<float> readout = Readout(kRows);
  const Var<float> logits = head_.Logits(*forward_, readout);
  std::vector<int32_t> targets;
  int64_t correct = 0;
  for (int64_t row = 0; row < kRows; ++row) {
    const float* const of_row = logits.data() + row * 700;
    const auto best =
        static_cast<int32_t>(std::max_element(of_row, of_row + 700) - of_row);
    if (row % 5 == 0) {
      targets.push_back(Vocabulary::kPad);
    } else if (row % 3 == 0) {
      targets.push_back(best);
      correct += best != Vocabulary::kPad;
    } else {
      targets.push_back(best == 7 ? 8 : 7);
    }
  }
  const TokenScoreSums scores = ScoreTokens(head_, *forward_, readout, targets);
  const auto ignored =
      std::count(targets.begin(), targets.end(), Vocabulary::kPad);
  EXPECT_EQ(scores.count, kRows - ignored);
  EXPECT_EQ(scores.correct, correct);
  const double loss = static_cast<double>(
      CrossEntropy(logits, targets, {.ignore_id = Vocabulary::kPad}).item());
  EXPECT_NEAR(scores.loss, loss, 1e-5 * loss);
}

TEST_F(ScoreTokensTest, MemoryDoesNotGrowWithTheRows) {
  // The logits of all rows would take 560 MB.
  constexpr int64_t kRows = 200000;
  const Var<float> readout = Readout(kRows);
  const std::vector<int32_t> targets(kRows, 5);
  const size_t before = tape_.high_water_bytes();
  EXPECT_EQ(ScoreTokens(head_, *forward_, readout, targets).count, kRows);
  EXPECT_LT(tape_.high_water_bytes(), before + (size_t{32} << 20));
}

TEST_F(ScoreTokensTest, NoRowsHaveNoScores) {
  const TokenScoreSums scores = ScoreTokens(head_, *forward_, Readout(0), {});
  EXPECT_EQ(scores.count, 0);
  EXPECT_EQ(scores.loss, 0);
}

}  // namespace
}  // namespace regard
