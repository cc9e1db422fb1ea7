// Learns the sine on the tape.
#include <cmath>
#include <cstdio>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "nn/layers/linear.h"
#include "nn/optimizers/built_in_optimizers.h"

using namespace regard;  // NOLINT: an example

int main() {
  ParameterStore<float> store;
  const LinearLayer<float> hidden(store.Root().Sub("hidden"), 1, 32);
  const LinearLayer<float> output(store.Root().Sub("output"), 32, 1);
  store.Finalize(/*seed=*/0);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  WorkerPool pool(1);
  const auto adam = BuiltInOptimizers().Create(OptimizerConfig(), store);
  float error = 0;
  for (int step = 0; step < 1000; ++step) {
    forward.BeginStep();
    Var<float> x = tape.Constant({64, 1}), y = tape.Constant({64, 1});
    for (int i = 0; i < 64; ++i) y.data()[i] = std::sin(x.data()[i] = i * .1f);
    const Var<float> fit = output(forward, Tanh(hidden(forward, x)));
    const Var<float> loss = Mean(Square(fit - y));
    forward.Backward({loss}, {1.0});
    adam->Update({.learning_rate = .01, .gradient = gradients.values()}, pool);
    error = loss.data()[0];
  }
  std::printf("mean squared error %g\n", error);
  return error < 1e-3 ? 0 : 1;
}
