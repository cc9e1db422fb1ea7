// Checks that weights, contexts and gradients in float agree with PyTorch to
// 1e-5, with and without masks.
#include "nn/testing/parity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"

namespace regard {
namespace {

// Runs attention with `config` on the inputs of the fixture, and compares the
// results with the fixture.
void CheckParity(const std::string& fixture_name, const std::string& config) {
  const Fixture fixture(fixture_name, "attention/testdata");
  Attention attention;
  ASSERT_TRUE(
      google::protobuf::TextFormat::ParseFromString(config, &attention));
  AttentionRegistry registry;
  RegisterBuiltInScores(registry);
  ParameterStore<float> store;
  const AttentionLayer<float> attender(registry, attention, store.Root(),
                                       {.heads = 1,
                                        .query = fixture["queries"].shape[-1],
                                        .key = fixture["keys"].shape[-1]});
  store.Finalize(/*seed=*/1);
  SetParameters(fixture, &store);

  Tape<float> tape;
  GradientSlab<float> gradients(store);
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const auto input = [&](const std::string& name) {
    return tape.Input(fixture[name].shape, fixture.Floats(name));
  };
  const Var<float> keys = input("keys");
  const std::vector<int32_t> lengths = fixture.Integers("lengths");
  AttendInputs<float> inputs;
  inputs.score.queries = input("queries");
  inputs.score.keys = attender.Prepare(forward, {.keys = keys});
  inputs.score.mask.key_lengths = lengths;
  inputs.values = input("values");
  const AttentionResult<float> attended = attender.Attend(forward, inputs);
  const auto expect = [&](const std::string& name, Var<float> output) {
    ExpectParity(output.span(), fixture[name], name);
    const std::vector<float> weights = fixture.Floats(name + ".weights");
    output.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  };
  expect("context", attended.context);
  expect("attention", attended.weights);
  forward.Backward({}, {});

  ExpectParity(Grad(inputs.score.queries), fixture["grad.queries"], "queries");
  ExpectParity(Grad(keys), fixture["grad.keys"], "keys");
  ExpectParity(Grad(inputs.values), fixture["grad.values"], "values");
  ExpectParameterGradients(fixture, store, gradients);
}

TEST(ParityTest, Additive) { CheckParity("additive", "additive { width: 4 }"); }

TEST(ParityTest, AdditiveWithBias) {
  CheckParity("additive_bias", "additive { width: 4 bias: true }");
}

TEST(ParityTest, ScaledDot) { CheckParity("scaled_dot", "scaled_dot {}"); }

TEST(ParityTest, Bilinear) { CheckParity("bilinear", "bilinear {}"); }

}  // namespace
}  // namespace regard
