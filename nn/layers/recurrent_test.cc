#include "nn/layers/recurrent.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/loss.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/initializers.h"
#include "nn/parameters.h"

namespace regard {
namespace {

int64_t CountParameters(const RecurrentOptions& options, int64_t inputs) {
  ParameterStore<float> store;
  const Recurrent<float> layer(store.Root(), options, inputs);
  return store.num_elements();
}

Var<double> RandomInput(Tape<double>& tape, const Shape& shape, uint64_t seed) {
  const RandomStream stream(seed, "input");
  const Var<double> x = tape.Input(shape, std::vector<double>(shape.size()));
  for (int64_t i = 0; i < x.size(); ++i) x.data()[i] = stream.NormalAt(i);
  return x;
}

void ExpectNear(Var<double> a, Var<double> b) {
  ASSERT_EQ(a.size(), b.size());
  for (int64_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a.data()[i], b.data()[i], 1e-13) << "element " << i;
  }
}

TEST(RecurrentTest, HasThePublishedNumberOfParameters) {
  // In PyTorch, each layer and direction has
  // gates * width * (inputs + width + 2) parameters.
  EXPECT_EQ(CountParameters({.width = 5}, 7), 3 * 5 * (7 + 5 + 2));
  EXPECT_EQ(CountParameters({.cell = RecurrentCell::kLstm, .width = 5}, 7),
            4 * 5 * (7 + 5 + 2));
  // The published formula has one bias for each gate.
  EXPECT_EQ(
      CountParameters({.cell = RecurrentCell::kGruResetBefore, .width = 5}, 7),
      3 * 5 * (7 + 5 + 1));
  // The second layer reads the outputs of both directions.
  EXPECT_EQ(
      CountParameters({.width = 5, .layers = 2, .bidirectional = true}, 7),
      2 * 15 * (7 + 5 + 2) + 2 * 15 * (10 + 5 + 2));
}

TEST(RecurrentTest, NamesSayLayerAndDirection) {
  ParameterStore<float> store;
  const Recurrent<float> layer(store.Root().Sub("encoder").Sub("gru"),
                               {.width = 2, .layers = 2, .bidirectional = true},
                               3);
  EXPECT_TRUE(store.FindByName("encoder.gru.0.weight_ih").has_value());
  EXPECT_TRUE(store.FindByName("encoder.gru.1.reverse.bias_hh").has_value());
  EXPECT_EQ(store.parameters().size(), 16u);
}

class RecurrentKinds : public testing::TestWithParam<RecurrentCell> {};

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentKinds,
                         testing::Values(RecurrentCell::kGruResetBefore,
                                         RecurrentCell::kGru,
                                         RecurrentCell::kLstm));

TEST_P(RecurrentKinds, StepsEqualTheWholeSequence) {
  ParameterStore<double> store;
  const Recurrent<double> layer(
      store.Root(), {.cell = GetParam(), .width = 3, .layers = 2}, 5);
  store.Finalize(1);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  forward.BeginStep();
  // Because there is only one sequence, each step is one row of x.
  const Var<double> x = RandomInput(tape, {1, 4, 5}, 1);
  const RecurrentOutputs<double> whole = layer.Run(forward, x, {});
  RecurrentState<double> state = layer.ZeroState(forward, 1);
  RecurrentState<double> split = state;
  const Var<double> bias = layer.InputBias(forward);
  for (int t = 0; t < 4; ++t) {
    const absl::Span<const double> row(x.data() + 5 * t, 5);
    state = layer.Step(
        forward,
        layer.ProjectInput(forward, tape.Constant({1, 5}, row), 0, bias),
        state);
    // Projecting two parts of the input one after the other must give the same
    // state as projecting the whole input.
    const Var<double> y = tape.Constant({1, 2}, row.subspan(0, 2));
    const Var<double> c = tape.Constant({1, 3}, row.subspan(2));
    split =
        layer.Step(forward,
                   layer.ProjectInput(forward, c, 2,
                                      layer.ProjectInput(forward, y, 0, bias)),
                   split);
    ExpectNear(layer.Output(split), layer.Output(state));
    ExpectNear(layer.Output(state),
               tape.Constant({1, 3}, {whole.sequence.data() + 3 * t, 3}));
  }
  for (int layer_index = 0; layer_index < 2; ++layer_index) {
    for (int k = 0; k < layer.states(); ++k) {
      ExpectNear(state[layer_index][k], whole.final_state[layer_index][k]);
    }
  }
}

TEST_P(RecurrentKinds, PaddingGetsExactlyZeroGradient) {
  ParameterStore<double> store;
  const Recurrent<double> layer(
      store.Root(),
      {.cell = GetParam(), .width = 3, .layers = 2, .bidirectional = true}, 2);
  store.Finalize(1);
  GradientSlab<double> gradients(store);
  Tape<double> tape;
  Forward<double> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<double> x = RandomInput(tape, {2, 3, 2}, 1);
  const Var<double> zero = tape.Full({2, 3, 6}, 0);
  const Var<double> out = layer.Run(forward, x, {{1, 3}}).sequence;
  for (int i = 6; i < 18; ++i) EXPECT_EQ(out.data()[i], 0);
  forward.Backward({SquaredError(out, zero)}, {1.0});
  for (int i = 0; i < 2; ++i) EXPECT_NE(x.grad_data()[i], 0);
  for (int i = 2; i < 6; ++i) EXPECT_EQ(x.grad_data()[i], 0);
  for (int i = 6; i < 12; ++i) EXPECT_NE(x.grad_data()[i], 0);
}

TEST_P(RecurrentKinds, OverfitsATinyBatch) {
  ParameterStore<double> store;
  const Recurrent<double> layer(
      store.Root(), {.cell = GetParam(), .width = 3, .layers = 2}, 2);
  store.Finalize(1);
  GradientSlab<double> gradients(store);
  Tape<double> tape;
  Forward<double> forward(tape, store, &gradients);
  double loss = 1;
  for (int step = 0; step < 600; ++step) {
    forward.BeginStep();
    const Var<double> x = RandomInput(tape, {2, 3, 2}, 1);
    const Var<double> target = Tanh(RandomInput(tape, {2, 3}, 2)) * 0.9;
    const Var<double> error = SquaredError(
        layer.Output(layer.Run(forward, x, {}).final_state), target);
    loss = error.item();
    forward.Backward({error}, {1.0});
    for (int64_t i = 0; i < store.slab_size(); ++i) {
      store.values()[i] -= 0.3 * gradients.values()[i];
    }
  }
  EXPECT_LT(loss, 0.01);
}

TEST(RecurrentTest, DropoutActsOnlyInTraining) {
  ParameterStore<double> store;
  const Recurrent<double> layer(store.Root(),
                                {.width = 8, .layers = 2, .dropout = 0.5}, 2);
  store.Finalize(1);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  std::vector<std::vector<double>> outputs;
  for (const bool training : {false, false, true, true}) {
    tape.set_training(training);
    forward.BeginStep();
    const Var<double> out =
        layer.Run(forward, RandomInput(tape, {2, 3, 2}, 1), {}).sequence;
    outputs.emplace_back(out.data(), out.data() + out.size());
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_NE(outputs[0], outputs[2]);
  EXPECT_EQ(outputs[2], outputs[3]);
}

// Doubles the states of layer 0.
class Doubler : public Hook<double> {
 public:
  HookRequest Request(const std::string& site) override {
    return {.replacement = site == "layer[0]/state"};
  }
  Var<double> Replace(Tape<double>&, const std::string&,
                      Var<double> states) override {
    return states * 2;
  }
};

TEST(RecurrentTest, AReplacedStateIsTheFinalState) {
  ParameterStore<double> store;
  const Recurrent<double> layer(store.Root(),
                                {.width = 2, .bidirectional = true}, 3);
  store.Finalize(1);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  const std::vector<int32_t> lengths = {3, 0, 2};
  // Returns the outputs [3, 3, 4] and the final states [3, 2] of both
  // directions.
  const auto run = [&](Hook<double>* hook) {
    forward.set_hook(hook);
    forward.BeginStep();
    const RecurrentOutputs<double> out =
        layer.Run(forward, RandomInput(tape, {3, 3, 3}, 1), lengths,
                  {{{tape.Full({3, 2}, 0.5)}}});
    std::vector<std::vector<double>> values;
    for (const Var<double>& value :
         {out.sequence, out.final_state[0][0], out.reverse_final_state[0][0]}) {
      values.emplace_back(value.data(), value.data() + value.size());
    }
    return values;
  };
  const std::vector<std::vector<double>> plain = run(nullptr);
  // The final state must be the output at the last position in the forward
  // direction, and at the first position in the reverse direction.
  EXPECT_EQ(plain[1][0], plain[0][2 * 4]);
  EXPECT_EQ(plain[1][4], plain[0][(2 * 3 + 1) * 4]);
  EXPECT_EQ(plain[2][1], plain[0][3]);
  Doubler doubler;
  const std::vector<std::vector<double>> doubled = run(&doubler);
  for (size_t part = 0; part < plain.size(); ++part) {
    for (size_t i = 0; i < plain[part].size(); ++i) {
      // The final state of an empty sequence must stay the initial state.
      const bool empty = part == 1 && i / 2 == 1;
      EXPECT_EQ(doubled[part][i], empty ? 0.5 : 2 * plain[part][i])
          << part << " " << i;
    }
  }
}

TEST(RecurrentTest, XavierWidensTheWeightsButNotTheBiases) {
  ParameterStore<double> store;
  const Recurrent<double> layer(
      store.Root(), {.width = 64, .initialization = XavierUniform}, 2);
  store.Finalize(1);
  const auto largest = [&](const char* name) {
    double largest = 0;
    for (const double x : store.value(*store.FindByName(name))) {
      largest = std::max(largest, std::abs(x));
    }
    return largest;
  };
  EXPECT_GT(largest("0.weight_ih"), 0.98 * std::sqrt(6.0 / (192 + 2)));
  EXPECT_LE(largest("0.weight_ih"), std::sqrt(6.0 / (192 + 2)));
  EXPECT_GT(largest("0.weight_hh"), 0.98 * std::sqrt(6.0 / (192 + 64)));
  EXPECT_LE(largest("0.weight_hh"), std::sqrt(6.0 / (192 + 64)));
  EXPECT_LE(largest("0.bias_ih"), 1.0 / 8);
}

TEST(RecurrentDeathTest, TheNumberOfLayersIsBounded) {
  ParameterStore<double> store;
  EXPECT_DEATH(Recurrent<double>(store.Root(), {.layers = 9}, 2), "9 layers");
}

TEST(RecurrentDeathTest, ABidirectionalNetworkHasNoStep) {
  ParameterStore<double> store;
  const Recurrent<double> layer(store.Root(),
                                {.width = 2, .bidirectional = true}, 2);
  store.Finalize(1);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);
  forward.BeginStep();
  const Var<double> projected = tape.Full({1, 6}, 0);
  EXPECT_DEATH(layer.Step(forward, projected, layer.ZeroState(forward, 1)),
               "no step");
}

}  // namespace
}  // namespace regard
