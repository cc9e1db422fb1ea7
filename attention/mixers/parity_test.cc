// Compares values and gradients of mixers in float with loops over positions in
// PyTorch, with a tolerance of 1e-5. tools/parity/write_mixer_fixtures.py has
// the loops.
#include "nn/testing/parity.h"

#include <cstdint>
#include <string>
#include <vector>

#include "attention/layer_state.h"
#include "attention/mixer_layer.h"
#include "attention/mixers/built_in_mixers.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/state_mixer.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"

namespace regard {
namespace {

void CheckParity(const std::string& name, const std::string& text) {
  SCOPED_TRACE(text);
  const Fixture fixture(name, "attention/mixers/testdata");
  MixerConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  ParameterStore<float> store;
  StateSlotNames slots;
  const MixerLayer<float> layer(BuiltInMixers(), config,
                                {.scope = store.Root(),
                                 .width = fixture["x"].shape[-1],
                                 .slots = SlotScope(slots, "layer")});
  store.Finalize(/*seed=*/0);
  SetParameters(fixture, &store);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<float> x = tape.Input(fixture["x"].shape, fixture.Floats("x"));
  const Var<float> y = layer(forward, x, {});
  ExpectParity(y.span(), fixture["y"], "y");
  const std::vector<float> weights = fixture.Floats("y.weights");
  y.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  forward.Backward({}, {});
  ExpectParameterGradients(fixture, store, gradients);
  ExpectParity(Grad(x), fixture["grad.x"], "grad.x");
}

TEST(MixerParityTest, LinearAttention) {
  CheckParity("linear_attention", "linear_attention { heads: 2 }");
}

TEST(MixerParityTest, Retention) {
  CheckParity("retention", "retention { heads: 2 }");
}

TEST(MixerParityTest, GatedLinear) {
  CheckParity("gated_linear", "gated_linear { heads: 2 }");
}

TEST(MixerParityTest, Mamba2) {
  CheckParity("mamba2", "mamba2 { heads: 2 key_width: 3 }");
}

TEST(MixerParityTest, Mamba2WithItsConvolution) {
  CheckParity("mamba2_convolution",
              "mamba2 { heads: 2 key_width: 3 convolution { bias: true } }");
}

TEST(MixerParityTest, DeltaNet) {
  CheckParity("delta_net", "delta_net { heads: 2 }");
}

TEST(MixerParityTest, GatedDelta) {
  CheckParity("gated_delta", "gated_delta { heads: 2 }");
}

TEST(MixerParityTest, Kda) {
  CheckParity("kda",
              "kda { heads: 2 eigenvalues: MINUS_ONE_ONE convolution { width: "
              "0 } }");
}

}  // namespace
}  // namespace regard
