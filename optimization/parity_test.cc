// Compares values and gradients with PyTorch in float, to a tolerance of 1e-5.
#include "nn/testing/parity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "autodiff/ops/loss.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/layers/recurrent.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "optimization/gradient_reducer.h"
#include "optimization/optimizer.h"
#include "optimization/optimizers/adam.h"
#include "optimization/optimizers/sgd.h"

namespace regard {
namespace {

constexpr char kFolder[] = "optimization/testdata";

// A layer under test. PyTorchName() translates the names of its parameters.
class ParityRun {
 public:
  explicit ParityRun(const std::string& fixture) : fixture_(fixture, kFolder) {}

  ParameterStore<float>& store() { return store_; }
  const Fixture& fixture() const { return fixture_; }

  // Sets the parameters to the values of the fixture and begins a step.
  Forward<float>& Begin() {
    store_.Finalize(0);
    for (const ParameterInfo& info : store_.parameters()) {
      const Fixture::Array& value = fixture_["value." + PyTorchName(info.name)];
      EXPECT_EQ(value.shape, info.shape) << info.name;
      const auto to = store_.value(*store_.FindByName(info.name));
      std::copy(value.values.begin(), value.values.end(), to.begin());
    }
    forward_.emplace(tape_, store_, &gradients_.emplace(store_));
    forward_->BeginStep();
    return *forward_;
  }

  Var<float> Input(const std::string& name) {
    return tape_.Input(fixture_[name].shape, fixture_.Floats(name));
  }

  // Compares an output with array `name` of the fixture. Sets the gradient of
  // the output to array `name`.weights.
  void Expect(const std::string& name, Var<float> output) {
    ExpectParity(output.span(), fixture_[name], name);
    const std::vector<float> weights = fixture_.Floats(name + ".weights");
    output.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  }

  // Compares an output with part `index` of the leading axis of array `name`.
  void ExpectPart(const std::string& name, int64_t index, Var<float> output) {
    const Fixture::Array& whole = fixture_[name];
    const auto begin = whole.values.begin() + index * output.size();
    ExpectParity(output.span(),
                 {output.shape(), {begin, begin + output.size()}}, name);
    const std::vector<float> weights = fixture_.Floats(name + ".weights");
    output.grad_ref().AddEach(
        [&](int64_t i) { return weights[index * output.size() + i]; });
  }

  void ExpectParameterGradients() {
    forward_->Backward({}, {});
    for (const ParameterInfo& info : store_.parameters()) {
      ExpectParity(
          store_.Segment(gradients_->values(), *store_.FindByName(info.name)),
          fixture_["grad." + PyTorchName(info.name)], info.name);
    }
  }

 private:
  // Returns PyTorch's name. "1.reverse.weight_ih" becomes weight_ih_l1_reverse.
  static std::string PyTorchName(const std::string& name) {
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) return name;
    return absl::StrCat(name.substr(dot + 1), "_l", name.substr(0, 1),
                        absl::StrContains(name, "reverse") ? "_reverse" : "");
  }

  Fixture fixture_;
  ParameterStore<float> store_;
  Tape<float> tape_;
  std::optional<GradientSlab<float>> gradients_;
  std::optional<Forward<float>> forward_;
};

TEST(ParityTest, Linear) {
  ParityRun run("linear");
  const LinearLayer<float> layer(run.store().Root(), 5, 3);
  Forward<float>& forward = run.Begin();
  const Var<float> x = run.Input("x");
  run.Expect("y", layer(forward, x));
  run.ExpectParameterGradients();
  ExpectParity(Grad(x), run.fixture()["grad.x"], "grad.x");
}

TEST(ParityTest, Embedding) {
  ParityRun run("embedding");
  const EmbeddingLayer<float> layer(run.store().Root(), 7, 3);
  Forward<float>& forward = run.Begin();
  run.Expect("y", layer(forward, run.fixture().Integers("ids"), {2, 3}));
  run.ExpectParameterGradients();
}

TEST(ParityTest, LayerNorm) {
  ParityRun run("layer_norm");
  const NormLayer<float> layer(run.store().Root(), 6);
  Forward<float>& forward = run.Begin();
  const Var<float> x = run.Input("x");
  run.Expect("y", layer(forward, x));
  run.ExpectParameterGradients();
  ExpectParity(Grad(x), run.fixture()["grad.x"], "grad.x");
}

TEST(ParityTest, CrossEntropy) {
  for (const char* name : {"cross_entropy", "cross_entropy_smoothed"}) {
    const Fixture fixture(name, kFolder);
    Tape<float> tape;
    const Var<float> logits =
        tape.Input(fixture["logits"].shape, fixture.Floats("logits"));
    const Var<float> loss =
        CrossEntropy(logits, fixture.Integers("labels"),
                     {.label_smoothing = fixture["smoothing"].values[0],
                      .ignore_id = fixture.Integers("padding")[0]});
    ExpectParity(loss.span(), fixture["loss"], "loss");
    tape.Backward(loss);
    ExpectParity(Grad(logits), fixture["grad.logits"], "grad.logits");
  }
}

void ExpectRecurrentParity(const std::string& name, RecurrentCell cell) {
  ParityRun run(name);
  const Recurrent<float> layer(
      run.store().Root(),
      {.cell = cell, .width = 4, .layers = 2, .bidirectional = true}, 3);
  Forward<float>& forward = run.Begin();
  const Var<float> x = run.Input("x");
  const RecurrentOutputs<float> out =
      layer.Run(forward, x, run.fixture().Integers("lengths"));
  run.Expect("sequence", out.sequence);
  for (int i = 0; i < 2; ++i) {
    run.ExpectPart("hidden", 2 * i, out.final_state[i][0]);
    run.ExpectPart("hidden", 2 * i + 1, out.reverse_final_state[i][0]);
    if (cell == RecurrentCell::kGru) continue;
    run.ExpectPart("cell", 2 * i, out.final_state[i][1]);
    run.ExpectPart("cell", 2 * i + 1, out.reverse_final_state[i][1]);
  }
  run.ExpectParameterGradients();
  ExpectParity(Grad(x), run.fixture()["grad.x"], "grad.x");
}

TEST(ParityTest, GruOfTwoLayersAndDirectionsOnRaggedSequences) {
  ExpectRecurrentParity("gru", RecurrentCell::kGru);
}

TEST(ParityTest, LstmOfTwoLayersAndDirectionsOnRaggedSequences) {
  ExpectRecurrentParity("lstm", RecurrentCell::kLstm);
}

template <typename Rule, typename Options>
void ExpectOptimizerParity(const std::string& name, const Options& options) {
  SCOPED_TRACE(name);
  const Fixture fixture(name, kFolder);
  ParameterStore<float> store;
  const Parameter<float> w = store.Root().Add("w", {6}, Zeros());
  store.Finalize(0);
  WorkerPool pool(1);
  GradientReducer<float> reducer(store, /*num_shards=*/1,
                                 /*accumulate_batches=*/1, pool);
  Rule rule(options, store);
  const auto set = [](absl::Span<float> to, const std::vector<double>& from) {
    std::copy(from.begin(), from.end(), to.begin());
  };
  set(store.value(w), fixture["start"].values);
  for (int step = 0; step < 10; ++step) {
    reducer.AddBatch([&](int, int, GradientSlab<float>& gradients) {
      set(store.Segment(gradients.values(), w),
          fixture[absl::StrCat("grad.", step)].values);
    });
    rule.Update({.learning_rate = 0.1,
                 .clip_factor = ClipFactor(reducer.gradient_norm(),
                                           fixture["clip_norm"].values[0]),
                 .gradient = reducer.gradient()},
                pool);
    ExpectParity(store.value(w), fixture[absl::StrCat("value.", step)],
                 absl::StrCat("step ", step));
  }
}

TEST(ParityTest, TenStepsOfEachOptimizer) {
  ExpectOptimizerParity<Sgd<float>, SgdOptions>(
      "sgd", {.momentum = 0.9, .weight_decay = 0.01});
  ExpectOptimizerParity<Sgd<float>, SgdOptions>(
      "sgd_nesterov", {.momentum = 0.9, .nesterov = true});
  ExpectOptimizerParity<Adam<float>, AdamOptions>("adam",
                                                  {.weight_decay = 0.01});
  ExpectOptimizerParity<Adam<float>, AdamOptions>(
      "adamw", {.weight_decay = 0.1, .decoupled = true});
}

}  // namespace
}  // namespace regard
