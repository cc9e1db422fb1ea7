// Compares values and gradients of layers in float with PyTorch, with a
// tolerance of 1e-5. The references are TransformerEncoderLayer,
// TransformerDecoderLayer, and a GPT-2 block of the transformers library.
#include "nn/testing/parity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/layer_state.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"

namespace regard {
namespace {

// One layer of width 6 with two heads and five hidden units. It is a decoder
// layer if the fixture has a memory.
void CheckLayer(const std::string& name, const std::string& fields, bool causal,
                bool decoder) {
  SCOPED_TRACE(name);
  const Fixture fixture(name, "attention/transformer/testdata");
  const TransformerConfig config = Parse<TransformerConfig>(
      "width: 6 layers: 1 attention { heads: 2 } " + fields);
  ParameterStore<float> store;
  StateSlotNames slots;
  const TransformerLayer<float> layer(BuiltInScorers(), config, /*index=*/0,
                                      /*memory_width=*/decoder ? 6 : 0,
                                      store.Root(), SlotScope(slots, "layer"));
  store.Finalize(/*seed=*/0);
  SetParameters(fixture, &store);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const auto input = [&](const std::string& part) {
    return tape.Input(fixture[part].shape, fixture.Floats(part));
  };
  const Var<float> x = input("x");
  LayerInputs<float> inputs;
  inputs.mask.causal = causal;
  std::vector<int32_t> lengths;
  Var<float> memory;
  if (decoder) {
    lengths = fixture.Integers("lengths");
    memory = input("memory");
    inputs.memory = layer.PrepareMemory(forward, memory);
    inputs.memory_mask.key_lengths = lengths;
  } else if (!causal) {
    lengths = fixture.Integers("lengths");
    inputs.mask.key_lengths = lengths;
  }
  const Var<float> y = layer(forward, x, inputs);
  ExpectParity(y.span(), fixture["y"], "y");
  const std::vector<float> weights = fixture.Floats("y.weights");
  y.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  forward.Backward({}, {});
  ExpectParameterGradients(fixture, store, gradients);
  ExpectParity(Grad(x), fixture["grad.x"], "grad.x");
  if (decoder) {
    ExpectParity(Grad(memory), fixture["grad.memory"], "grad.memory");
  }
}

TEST(TransformerParityTest, EncoderLayer) {
  CheckLayer("encoder_layer_post",
             "norm_order: POST feed_forward { hidden: 5 }", /*causal=*/false,
             /*decoder=*/false);
  CheckLayer("encoder_layer_pre",
             "norm_order: PRE feed_forward { hidden: 5 activation: GELU }",
             /*causal=*/false, /*decoder=*/false);
}

TEST(TransformerParityTest, DecoderLayer) {
  CheckLayer("decoder_layer_post",
             "norm_order: POST feed_forward { hidden: 5 activation: GELU }",
             /*causal=*/true, /*decoder=*/true);
  CheckLayer("decoder_layer_pre", "norm_order: PRE feed_forward { hidden: 5 }",
             /*causal=*/true,
             /*decoder=*/true);
}

TEST(TransformerParityTest, BlockOfGpt2) {
  CheckLayer("gpt2_block",
             "norm_order: PRE feed_forward { hidden: 5 activation: GELU_TANH }",
             /*causal=*/true, /*decoder=*/false);
}

}  // namespace
}  // namespace regard
