// After the first steps, a training step must make no heap allocation.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/loss.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/layers/recurrent.h"
#include "nn/parameters.h"
#include "optimization/gradient_reducer.h"
#include "optimization/optimizer.h"
#include "optimization/optimizers/adam.h"
#include "optimization/schedules/schedules.h"

namespace regard {
namespace {

class WarmStep : public testing::TestWithParam<RecurrentCell> {};

INSTANTIATE_TEST_SUITE_P(Cells, WarmStep,
                         testing::Values(RecurrentCell::kLstm,
                                         RecurrentCell::kGruResetBefore,
                                         RecurrentCell::kGru));

TEST_P(WarmStep, AllocatesNothing) {
  ParameterStore<float> store;
  const EmbeddingLayer<float> embedding(store.Root().Sub("embedding"), 11, 5);
  const Recurrent<float> recurrent(store.Root().Sub("encoder"),
                                   {.cell = GetParam(),
                                    .width = 8,
                                    .layers = 2,
                                    .bidirectional = true,
                                    .dropout = 0.1},
                                   5);
  const NormLayer<float> norm(store.Root().Sub("norm"), 16);
  const LinearLayer<float> output(store.Root().Sub("output"), 16, 11);
  store.Finalize(1);
  WorkerPool pool(1);
  GradientReducer<float> reducer(store, /*num_shards=*/3,
                                 /*accumulate_batches=*/1, pool);
  Adam<float> adam({}, store);
  const CosineSchedule schedule({},
                                {.learning_rate = 1e-3, .total_updates = 6});
  Tape<float> tape;
  tape.set_training(true);
  Forward<float> forward(tape, store, nullptr);
  const std::vector<int32_t> ids = {1, 2, 3, 4, 0, 0, 9, 9, 9, 10, 10, 10};
  const std::vector<int32_t> lengths = {4, 2, 3};

  int64_t before = 0;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) before = AllocationCount();
    reducer.AddBatch([&](int, int, GradientSlab<float>& gradients) {
      forward.set_gradients(&gradients);
      forward.BeginStep();
      const Var<float> encoded =
          recurrent.Run(forward, embedding(forward, ids, {3, 4}), lengths)
              .sequence;
      const Var<float> logits = output(forward, norm(forward, encoded));
      const Var<float> losses[] = {CrossEntropy<float>(logits, ids)};
      const double seeds[] = {0.1};
      forward.Backward(losses, seeds);
    });
    adam.Update({.learning_rate = schedule.LearningRate(adam.updates() + 1),
                 .clip_factor = ClipFactor(reducer.gradient_norm(), 1),
                 .gradient = reducer.gradient()},
                pool);
  }
  EXPECT_EQ(AllocationCount() - before, 0);
}

}  // namespace
}  // namespace regard
