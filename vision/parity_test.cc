// Values and gradients of a block and of a model of two layers agree with those
// of timm's Vision Transformer to 1e-5, in float; and those of a captioner with
// such an encoder and PyTorch's decoder layers.
#include "nn/testing/parity.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "vision/captioner.h"
#include "vision/captioner.pb.h"
#include "vision/vision_transformer.h"
#include "vision/vision_transformer.pb.h"

namespace regard {
namespace {

// Gives the parameters of `store` the values of the fixture: in `layers`, those
// of queries, keys and values are the thirds of timm's fused projection.
void SetFusedParameters(const Fixture& fixture,
                        const std::vector<std::string>& layers,
                        ParameterStore<float>& store) {
  for (const ParameterInfo& info : store.parameters()) {
    const absl::Span<float> to = store.value(*store.FindByName(info.name));
    std::vector<float> values;
    for (const std::string& layer : layers) {
      size_t third = 0;
      for (const char* part : {"query", "key", "value"}) {
        for (const char* kind : {".weight", ".bias"}) {
          if (info.name != layer + "attention." + part + kind) continue;
          const std::vector<float> fused =
              fixture.Floats("fused." + layer + "attention" + kind);
          ASSERT_EQ(fused.size(), 3 * to.size()) << info.name;
          values.assign(fused.begin() + third * to.size(),
                        fused.begin() + (third + 1) * to.size());
        }
        ++third;
      }
    }
    if (values.empty()) {
      ASSERT_EQ(fixture["value." + info.name].shape, info.shape) << info.name;
      values = fixture.Floats("value." + info.name);
    }
    std::copy(values.begin(), values.end(), to.begin());
  }
}

// Compares y and, after a backward pass from sum(weights * y), all gradients.
void ExpectSame(const Fixture& fixture, const ParameterStore<float>& store,
                const GradientSlab<float>& gradients, Forward<float>& forward,
                Var<float> x, Var<float> y) {
  ExpectParity(y.span(), fixture["y"], "y");
  const std::vector<float> weights = fixture.Floats("y.weights");
  y.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  forward.Backward({}, {});
  ExpectParameterGradients(fixture, store, gradients);
  ExpectParity(Grad(x), fixture["grad.x"], "grad.x");
}

TEST(VisionParityTest, Block) {
  const Fixture fixture("vit_block", "vision/testdata");
  const auto config = Parse<TransformerConfig>(
      "width: 6 layers: 1 attention { heads: 2 bias: false output_bias: true } "
      "feed_forward { hidden: 5 activation: GELU }");
  ParameterStore<float> store;
  const TransformerLayer<float> block(BuiltInScorers(), config, /*index=*/0,
                                      /*memory_width=*/0, store.Root());
  store.Finalize(/*seed=*/0);
  SetFusedParameters(fixture, {""}, store);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<float> x = tape.Input(fixture["x"].shape, fixture.Floats("x"));
  ExpectSame(fixture, store, gradients, forward, x, block(forward, x, {}));
}

TEST(VisionParityTest, ModelOfTwoLayers) {
  const Fixture fixture("vit_model", "vision/testdata");
  const auto config = Parse<VisionTransformerConfig>(
      "patch: 2 transformer { width: 6 layers: 2 attention { heads: 2 } "
      "feed_forward { hidden: 5 activation: GELU } norm { epsilon: 1e-6 } "
      "position_embedding { kind: LEARNED } }");
  ParameterStore<float> store;
  const VisionTransformer<float> model(config, {2, 4, 6}, BuiltInScorers(),
                                       store.Root());
  const LinearLayer<float> head(store.Root().Sub("head"), 6, 3);
  store.Finalize(/*seed=*/0);
  SetFusedParameters(fixture, {"layers.0.", "layers.1."}, store);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<float> x = tape.Input(fixture["x"].shape, fixture.Floats("x"));
  ExpectSame(fixture, store, gradients, forward, x,
             head(forward, model.Pool(model(forward, x))));
}

TEST(VisionParityTest, Captioner) {
  const Fixture fixture("captioner", "vision/testdata");
  const auto config = Parse<CaptionerConfig>(
      "vision_transformer { patch: 2 transformer { width: 6 layers: 2 "
      "attention { heads: 2 } feed_forward { hidden: 5 activation: GELU } norm "
      "{ epsilon: 1e-6 } position_embedding { kind: LEARNED } } } decoder { "
      "width: 6 layers: 2 attention { heads: 2 } feed_forward { hidden: 5 "
      "activation: GELU } norm_order: POST norm { epsilon: 1e-12 } "
      "position_embedding { kind: LEARNED longest: 5 } scale_embedding: false "
      "}");
  ParameterStore<float> store;
  const Captioner<float> model(config, {2, 4, 6}, /*vocabulary=*/9,
                               BuiltInScorers(), store.Root());
  store.Finalize(/*seed=*/0);
  SetFusedParameters(fixture, {"encoder.layers.0.", "encoder.layers.1."},
                     store);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<float> x = tape.Input(fixture["x"].shape, fixture.Floats("x"));
  DecoderState<float> state =
      model.decoder().Begin(forward, model.Encode(forward, 2, x));
  const std::vector<int32_t> ids = fixture.Integers("ids");
  const Var<float> readout = model.decoder().Advance(forward, ids, {}, &state);
  ExpectSame(fixture, store, gradients, forward, x,
             model.decoder().head().Logits(forward, readout));
}

}  // namespace
}  // namespace regard
