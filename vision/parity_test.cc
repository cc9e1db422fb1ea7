// Compares values and gradients in float, with a tolerance of 1e-5:
// * A block and a two-layer model with timm's Vision Transformer.
// * A captioner with PyTorch's decoder layers.
// * Another captioner with the BLIP of transformers. Its sentences must also be
//   equal.
#include "nn/testing/parity.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/layer_state.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/memory.h"
#include "seq2seq/output_head.h"
#include "vision/captioner.h"
#include "vision/captioner.pb.h"
#include "vision/vision_transformer.h"
#include "vision/vision_transformer.pb.h"

namespace regard {
namespace {

// Sets the parameters of `store` to the values of the fixture. In `layers`,
// queries, keys and values are the thirds of timm's fused projection.
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
  StateSlotNames slots;
  const TransformerLayer<float> block(BuiltInScorers(), config, /*index=*/0,
                                      /*memory_width=*/0, store.Root(),
                                      SlotScope(slots, "layer"));
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
  const Captioner<float> model(config, {2, 4, 6}, {.count = 9},
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

// A captioner in the form of BLIP.
class Blip {
 public:
  Blip(const std::string& name, const CaptionerConfig& config,
       const CaptionIds& ids)
      : fixture_(name, "vision/testdata"),
        shape_({3, fixture_["x"].shape[2], fixture_["x"].shape[3]}),
        model_(config, shape_, ids, BuiltInScorers(), store_.Root()) {
    store_.Finalize(/*seed=*/0);
    std::vector<std::string> layers;
    for (int64_t i = 0; i < model_.encoder()->layers(); ++i) {
      layers.push_back("encoder.layers." + std::to_string(i) + ".");
    }
    SetFusedParameters(fixture_, layers, store_);
  }

  void ExpectSameGradients() {
    GradientSlab<float> gradients(store_);
    Tape<float> tape;
    Forward<float> forward(tape, store_, &gradients);
    forward.BeginStep();
    const Var<float> x = tape.Input(fixture_["x"].shape, fixture_.Floats("x"));
    const Memory<float> memory = model_.Encode(forward, 2, x);
    ExpectParity(memory.values.span(), fixture_["tokens"], "tokens");
    const Var<float> readout =
        model_.decoder().Run(forward, memory, fixture_.Integers("ids"));
    ExpectParity(readout.span(), fixture_["hidden"], "hidden");
    ExpectSame(fixture_, store_, gradients, forward, x,
               model_.decoder().head().Logits(forward, readout));
  }

  // Beams are compared only if the best sentence has the end token.
  // transformers chooses differently among sentences without an end token.
  void ExpectSameSentences() {
    const SpecialIds special = model_.decoder().head().special_ids();
    store_.value(*store_.FindByName("decoder.output.bias"))[special.end] +=
        fixture_.Floats("end")[0];
    int compared = 0;
    for (const std::string prompt : {"0", "1"}) {
      for (const int beam : {1, 3}) {
        const std::vector<std::vector<int32_t>> sentences =
            Write(fixture_.Integers("prompt." + prompt), beam);
        for (size_t i = 0; i < sentences.size(); ++i) {
          const std::string name =
              prompt + "." + std::to_string(beam) + "." + std::to_string(i);
          if (beam > 1 && fixture_.Integers("ended." + name)[0] == 0) continue;
          ++compared;
          EXPECT_EQ(sentences[i], fixture_.Integers("sentence." + name))
              << name;
        }
      }
    }
    EXPECT_GE(compared, 12);
  }

 private:
  std::vector<std::vector<int32_t>> Write(const std::vector<int32_t>& prompt,
                                          int beam) {
    const std::vector<float> pixels = fixture_.Floats("images");
    const Shape shape = fixture_["images"].shape;
    Tape<float> tape;
    Forward<float> forward(tape, store_, nullptr);
    const EnsembleMember member = {
        &model_.decoder(), &forward, [&](Forward<float>& of_member) {
          return model_.Encode(of_member, shape[0],
                               of_member.tape().Constant(shape, pixels));
        }};
    std::vector<SourceSearchInputs> sources;
    std::vector<int32_t> read = {model_.decoder().head().special_ids().begin};
    read.insert(read.end(), prompt.begin(), prompt.end());
    for (int64_t i = 0; i < shape[0]; ++i) {
      // The limit is 14 words and the end token.
      sources.push_back({15, static_cast<uint64_t>(i), read});
    }
    SearchConfig search;
    search.set_beam(beam);
    search.set_length_penalty(0);
    search.set_min_length(3);
    std::vector<std::vector<int32_t>> sentences;
    for (const auto& found :
         Search({.members = {&member, 1}, .sources = sources}, search)) {
      sentences.push_back(found.front().ids);
    }
    return sentences;
  }

  const Fixture fixture_;
  const ImageShape shape_;
  ParameterStore<float> store_;
  Captioner<float> model_;
};

TEST(VisionParityTest, Blip) {
  Blip blip("blip",
            Parse<CaptionerConfig>(
                "vision_transformer { patch: 2 transformer { width: 8 layers: "
                "2 attention { heads: 4 } feed_forward { hidden: 10 "
                "activation: GELU } position_embedding { kind: LEARNED } } } "
                "decoder { width: 6 layers: 2 attention { heads: 2 } "
                "feed_forward { hidden: 7 activation: GELU } norm_order: POST "
                "norm { epsilon: 1e-12 } position_embedding { kind: LEARNED "
                "longest: 20 } scale_embedding: false embedding_norm: true "
                "tied_embeddings: TARGET_OUTPUT output_transform: true }"),
            {.count = 14, .special = {.begin = 12, .end = 3, .pad = 0}});
  blip.ExpectSameGradients();
  blip.ExpectSameSentences();
}

TEST(VisionParityTest, BlipWithAWideDecoder) {
  Blip blip("blip_wide",
            Parse<CaptionerConfig>(
                "vision_transformer { patch: 4 transformer { width: 4 layers: "
                "1 attention { heads: 1 } feed_forward { hidden: 6 "
                "activation: GELU } norm { epsilon: 1e-6 } position_embedding "
                "{ kind: LEARNED } } } decoder { width: 9 layers: 3 attention "
                "{ heads: 3 } feed_forward { hidden: 12 activation: GELU } "
                "norm_order: POST norm { epsilon: 1e-12 } position_embedding { "
                "kind: LEARNED longest: 20 } scale_embedding: false "
                "embedding_norm: true tied_embeddings: TARGET_OUTPUT "
                "output_transform: true }"),
            {.count = 11, .special = {.begin = 10, .end = 3, .pad = 0}});
  blip.ExpectSameGradients();
  blip.ExpectSameSentences();
}

}  // namespace
}  // namespace regard
