// Trains a small network to compute the sine. Then makes a prediction with the
// run in the folder argv[1].
#include <cmath>
#include <cstdio>

#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "experiments/run.h"
#include "experiments/tasks/built_in_plugins.h"
#include "nn/layers/linear.h"
#include "optimization/optimizers/adam.h"

int main(int, char** argv) {
  regard::ParameterStore<float> store;
  const regard::LinearLayer<float> hidden(store.Root().Sub("hidden"), 1, 32);
  const regard::LinearLayer<float> output(store.Root().Sub("output"), 32, 1);
  store.Finalize(/*seed=*/0);
  regard::GradientSlab<float> gradients(store);
  regard::Tape<float> tape;
  regard::Forward<float> forward(tape, store, &gradients);
  regard::WorkerPool pool(1);
  regard::Adam<float> adam({}, store);
  float error = 1;
  for (int step = 1; step <= 1000; ++step) {
    forward.BeginStep();
    regard::Var<float> x = tape.Constant({64, 1}), y = tape.Constant({64, 1});
    for (int i = 0; i < 64; ++i) y.data()[i] = std::sin(x.data()[i] = i * .1f);
    auto loss = Mean(Square(output(forward, Tanh(hidden(forward, x))) - y));
    forward.Backward({loss}, {1.0});
    adam.Update({.learning_rate = .01, .gradient = gradients.values()}, pool);
    error = loss.data()[0];
  }
  const regard::Plugins plugins = regard::BuiltInPlugins();
  const auto run = regard::Run::Open(argv[1], plugins, {.data = true}).value();
  regard::SiteValueRecorder<float> watch({"*decoder/attention/weights"});
  const auto prediction = run.Predict({.text = "they are watching ."});
  const auto pass = run.Forward({.examples = {0, 1, 2}}, &watch);
  std::printf("error %g, answer: %s, loss %g at %zu sites\n", error,
              prediction.value().text.c_str(), pass->loss, watch.seen().size());
  return error < 1e-3 && !prediction->text.empty() && !watch.seen().empty() ? 0
                                                                            : 1;
}
