// The code of from_cpp.md: two operations with a gradient check, a layer and a
// training loop.
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <numeric>
#include <string>

#include "autodiff/gradient_failures.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/loss.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "optimization/gradient_reducer.h"
#include "optimization/optimizer.h"
#include "optimization/optimizers/adam.h"
#include "optimization/schedules/schedules.h"

namespace lab {

using regard::Forward;
using regard::Tape;
using regard::Var;

// y = 1 / (1 + x^2), whose derivative is -2 x y^2.
template <typename T>
Var<T> Bump(Var<T> x) {
  Tape<T>& tape = x.tape();
  const Var<T> y = tape.NewLike(x, x.needs_grad());
  for (int64_t i = 0; i < x.size(); ++i) {
    y.data()[i] = 1 / (1 + x.data()[i] * x.data()[i]);
  }
  tape.Record("Bump", y, [=] {
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t i) {
        return -2 * x.data()[i] * y.data()[i] * y.data()[i] * y.grad_data()[i];
      });
    }
  });
  return y;
}

// Returns the sum of squares of each row: x [.., n] -> [..].
template <typename T>
Var<T> SquaredNorm(Var<T> x) {
  Tape<T>& tape = x.tape();
  const int64_t n = x.cols();
  const Var<T> y = tape.New(x.shape().Remove(-1), x.needs_grad());
  for (int64_t row = 0; row < x.rows(); ++row) {
    T sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x.at(row, i) * x.at(row, i);
    y.data()[row] = sum;
  }
  tape.Record("SquaredNorm", y, [=] {
    auto d = x.grad_ref();
    if (!d) return;
    const bool add = d.BeginContribution();
    for (int64_t row = 0; row < x.rows(); ++row) {
      const T factor = 2 * y.grad_data()[row];
      regard::AddOrAssign(add, n, d.data() + row * n,
                          [=](int64_t i) { return factor * x.at(row, i); });
    }
  });
  return y;
}

int CheckOperations() {
  int failures = 0;
  for (const std::string& failure : regard::GradientFailures(
           {regard::MakeCase("Bump", "a matrix", {{{2, 3}}},
                             [](auto&, auto in) { return Bump(in[0]); }),
            regard::MakeCase(
                "SquaredNorm", "rows", {{{4, 2, 3}}},
                [](auto&, auto in) { return SquaredNorm(in[0]); })})) {
    std::printf("%s\n", failure.c_str());
    ++failures;
  }
  return failures;
}

// Bumps with learned positions, widths and heights:
// x [.., inputs] -> [.., units].
template <typename T>
class BumpLayer {
 public:
  BumpLayer(const regard::ParameterScope<T>& scope, int64_t inputs,
            int64_t units)
      : affine_(scope.Sub("affine"), inputs, units),
        height_(scope.Add("height", {units}, regard::Constant(1))) {}

  Var<T> operator()(Forward<T>& forward, Var<T> x) const {
    return Bump(affine_(forward, x)) * forward[height_];
  }

 private:
  regard::LinearLayer<T> affine_;
  regard::Parameter<T> height_;
};

// Each thread computes on its own tape.
struct Worker {
  explicit Worker(const regard::ParameterStore<float>& store)
      : forward(tape, store, /*gradients=*/nullptr) {}

  Tape<float> tape;
  Forward<float> forward;
};

// Learns the sine from 64 points. Returns the mean squared error.
float TrainSine() {
  regard::ParameterStore<float> store;
  const BumpLayer<float> hidden(store.Root().Sub("hidden"), 1, 16);
  const regard::LinearLayer<float> output(store.Root().Sub("output"), 16, 1);
  store.Finalize(/*seed=*/0);

  constexpr int kSteps = 1000, kShards = 4;
  regard::WorkerPool pool(/*threads=*/2);
  regard::GradientReducer<float> reducer(store, kShards,
                                         /*accumulate_batches=*/1, pool);
  regard::Adam<float> adam({.beta2 = 0.99}, store);
  const regard::CosineSchedule schedule(
      {.warmup = 50}, {.learning_rate = 0.02, .total_updates = kSteps});
  std::deque<Worker> workers;
  for (int i = 0; i < reducer.num_workers(); ++i) workers.emplace_back(store);

  std::array<float, kShards> errors;
  for (int step = 1; step <= kSteps; ++step) {
    reducer.AddBatch([&](int worker, int shard, auto& gradients) {
      Forward<float>& forward = workers[worker].forward;
      forward.set_gradients(&gradients);
      forward.BeginStep();
      const Var<float> x = forward.tape().Constant({16, 1});
      const Var<float> y = forward.tape().Constant({16, 1});
      for (int i = 0; i < 16; ++i) {
        x.data()[i] = 0.1f * static_cast<float>(16 * shard + i) - 3.2f;
        y.data()[i] = std::sin(x.data()[i]);
      }
      const Var<float> error =
          SquaredError(output(forward, hidden(forward, x)), y);
      errors[shard] = error.item();
      forward.Backward({error}, {1.0 / 64});  // the mean of the batch
    });
    adam.Update({.learning_rate = schedule.LearningRate(step),
                 .clip_factor = regard::ClipFactor(reducer.gradient_norm(), 1),
                 .gradient = reducer.gradient()},
                pool);
  }
  return std::accumulate(errors.begin(), errors.end(), 0.0f) / 64;
}

}  // namespace lab

int main() {
  const int failures = lab::CheckOperations();
  const float error = lab::TrainSine();
  std::printf("%d failures, error %g\n", failures, error);
  return failures == 0 && error < 1e-3f ? 0 : 1;
}
