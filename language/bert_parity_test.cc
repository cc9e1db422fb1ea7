// Compares values and gradients of BERT with transformers, and with PyTorch in
// modes that transformers lacks. Computes in float, with a tolerance of 1e-5.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/checks/tape_state.h"
#include "attention/layer_state.h"
#include "attention/transformer/layer.h"
#include "attention/transformer/testing/layer_check.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/loss.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "nn/testing/held_sites.h"
#include "nn/testing/parity.h"
#include "seq2seq/output_head.h"
#include "seq2seq/transformer_head.h"

namespace regard {
namespace {

// A fixture, a store for the parameters of a model, and a step.
class ParityRun {
 public:
  explicit ParityRun(const std::string& name)
      : fixture_(name, "language/testdata") {}

  ParameterStore<float>& store() { return store_; }
  const Fixture& fixture() const { return fixture_; }
  Tape<float>& tape() { return tape_; }

  // Begins a step. All parameters must have been registered before.
  Forward<float>& Begin() {
    store_.Finalize(/*seed=*/0);
    SetParameters(fixture_, &store_);
    gradients_.emplace(store_);
    forward_.emplace(tape_, store_, &*gradients_);
    forward_->BeginStep();
    return *forward_;
  }

  Var<float> Input(const std::string& name) {
    return tape_.Input(fixture_[name].shape, fixture_.Floats(name));
  }

  // Compares `y` with the fixture. Sets the gradient of `y` to the fixture's
  // weights.
  void Project(Var<float> y, const std::string& name) {
    ExpectParity(y.span(), fixture_[name], name);
    const std::vector<float> weights = fixture_.Floats(name + ".weights");
    y.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  }

  void CheckParameterGradients() {
    ExpectParameterGradients(fixture_, store_, *gradients_);
  }

  void CheckGradient(Var<float> x, const std::string& name) {
    ASSERT_NE(x.grad_data(), nullptr) << name;
    ExpectParity(Grad(x), fixture_["grad." + name], "grad." + name);
  }

 private:
  const Fixture fixture_;
  ParameterStore<float> store_;
  Tape<float> tape_;
  std::optional<GradientSlab<float>> gradients_;
  std::optional<Forward<float>> forward_;
};

// Returns a config of width 6 with two heads and five hidden units, with the
// score of the fixture `name`.
TransformerConfig ConfigOf(const std::string& name, const char* more = "") {
  BertConfig config;
  *config.mutable_transformer() = Parse<TransformerConfig>(
      "width: 6 layers: 2 attention { heads: 2 attention { dropout: 0 } } "
      "feed_forward { hidden: 5 } dropout: 0");
  config.mutable_transformer()->MergeFrom(Parse<TransformerConfig>(more));
  if (name.find("relative_key") != std::string::npos ||
      name.find("head_mask") != std::string::npos) {
    const bool of_keys = name.find("key_query") != std::string::npos;
    auto& score = *config.mutable_transformer()
                       ->mutable_attention()
                       ->mutable_attention()
                       ->mutable_relative_dot();
    score.set_max_position(7);
    score.set_terms(of_keys ? RelativeDotScore::RELATIVE_KEY_QUERY
                            : RelativeDotScore::RELATIVE_KEY);
  }
  TransformerConfig transformer = BertTransformer(config);
  *transformer.mutable_cross_attention() =
      Parse<MultiHead>("attention { scaled_dot {} }");
  return transformer;
}

void CheckEncoderLayer(const std::string& name, const char* more = "") {
  SCOPED_TRACE(name);
  ParityRun run(name);
  StateSlotNames slots;
  const TransformerLayer<float> layer(BuiltInScorers(), ConfigOf(name, more),
                                      /*index=*/0, /*memory_width=*/0,
                                      run.store().Root(),
                                      SlotScope(slots, "layer"));
  Forward<float>& forward = run.Begin();
  const Var<float> x = run.Input("x");
  const std::vector<int32_t> lengths = run.fixture().Integers("lengths");
  LayerInputs<float> inputs;
  inputs.mask.key_lengths = lengths;
  CapturingHook<float> hook("*/weights", /*gradients=*/true);
  forward.set_hook(&hook);
  Var<float> heads;
  if (name == "bert_layer_head_mask") {
    heads = run.Input("head_mask");
    hook.set_head_factors(heads);
  }
  run.Project(layer(forward, x, inputs), "y");
  const Var<float> self = hook["self/attention/weights"];
  ExpectParity(self.span(), run.fixture()["self"], "self");
  forward.Backward({}, {});
  run.CheckParameterGradients();
  run.CheckGradient(x, "x");
  run.CheckGradient(self, "self");
  if (heads.has_value()) run.CheckGradient(heads, "head_mask");
}

TEST(BertParityTest, Layer) { CheckEncoderLayer("bert_layer"); }

TEST(BertParityTest, LayerWithFeedForwardInChunks) {
  CheckEncoderLayer("bert_layer", "feed_forward { chunk: 3 }");
  CheckEncoderLayer("bert_layer", "feed_forward { chunk: 1 }");
}

TEST(BertParityTest, LayerWithRelativePositions) {
  CheckEncoderLayer("bert_layer_relative_key");
  CheckEncoderLayer("bert_layer_relative_key_query");
}

TEST(BertParityTest, LayerWithHeadMask) {
  CheckEncoderLayer("bert_layer_head_mask");
}

// Tests a causal layer that attends to a memory. Its outputs must equal the
// fixture, whether it computes all positions at once or one after another.
void CheckDecoderLayer(const std::string& name) {
  SCOPED_TRACE(name);
  ParityRun run(name);
  StateSlotNames slots;
  const TransformerLayer<float> layer(BuiltInScorers(), ConfigOf(name),
                                      /*index=*/0, /*memory_width=*/5,
                                      run.store().Root(),
                                      SlotScope(slots, "layer"));
  Forward<float>& forward = run.Begin();
  const Var<float> x = run.Input("x");
  const Var<float> memory = run.Input("memory");
  const std::vector<int32_t> lengths = run.fixture().Integers("memory_lengths");
  LayerInputs<float> inputs;
  inputs.mask.causal = true;
  inputs.memory = layer.PrepareMemory(forward, memory);
  inputs.memory_mask.key_lengths = lengths;
  CapturingHook<float> hook("*/weights", /*gradients=*/true);
  forward.set_hook(&hook);
  run.Project(layer(forward, x, inputs), "y");
  forward.Backward({}, {});
  run.CheckParameterGradients();
  run.CheckGradient(x, "x");
  run.CheckGradient(memory, "memory");
  run.CheckGradient(hook["self/attention/weights"], "self");
  run.CheckGradient(hook["cross/attention/weights"], "cross");

  // With a cache, the layer reads one position at a time. Relative offsets must
  // be the same as in the full pass.
  Tape<float> tape;
  Forward<float> inference(tape, run.store(), /*gradients=*/nullptr);
  inference.BeginStep();
  inputs.memory = layer.PrepareMemory(
      inference, tape.Constant(memory.shape(), memory.span()));
  TapeLayerState<float> state(slots);
  inputs.state = &state;
  const int64_t time = x.dim(1);
  const int64_t width = x.dim(2);
  for (int64_t t = 0; t < time; ++t) {
    inputs.positions.first_query = t;
    const Var<float> at = tape.Constant({x.dim(0), 1, width});
    for (int64_t b = 0; b < x.dim(0); ++b) {
      std::copy_n(x.data() + (b * time + t) * width, width,
                  at.data() + b * width);
    }
    const Var<float> y = layer(inference, at, inputs);
    for (int64_t b = 0; b < x.dim(0); ++b) {
      for (int64_t i = 0; i < width; ++i) {
        const double want =
            run.fixture()["y"].values[(b * time + t) * width + i];
        EXPECT_NEAR(y.data()[b * width + i], want, 1e-5 * (1 + std::abs(want)))
            << "position " << t;
      }
    }
  }
}

TEST(BertParityTest, DecoderLayer) {
  CheckDecoderLayer("bert_decoder");
  CheckDecoderLayer("bert_decoder_relative_key");
  CheckDecoderLayer("bert_decoder_relative_key_query");
}

BertConfig ModelConfig() {
  BertConfig config;
  *config.mutable_transformer() = Parse<TransformerConfig>(
      "width: 6 layers: 2 attention { heads: 2 attention { dropout: 0 } } "
      "feed_forward { hidden: 5 } dropout: 0 position_embedding { longest: 7 "
      "}");
  return config;
}

TEST(BertParityTest, ModelAndItsMaps) {
  ParityRun run("bert_model");
  const Bert<float> bert(ModelConfig(), BuiltInScorers(), /*vocabulary=*/11,
                         run.store().Root());
  Forward<float>& forward = run.Begin();
  const std::vector<int32_t> ids = run.fixture().Integers("ids");
  const std::vector<int32_t> types = run.fixture().Integers("types");
  const std::vector<int32_t> lengths = run.fixture().Integers("lengths");
  CapturingHook<float> hook("*/weights", /*gradients=*/true);
  forward.set_hook(&hook);
  const Var<float> hidden = bert(
      forward, {.size = 3, .ids = ids, .types = types, .lengths = lengths});
  const Var<float> first = hook["bert/layers[0]/*"];
  const Var<float> second = hook["bert/layers[1]/*"];
  run.Project(bert.Pool(forward, hidden), "pooled");
  run.Project(hidden, "hidden");
  ExpectParity(first.span(), run.fixture()["self.0"], "self.0");
  ExpectParity(second.span(), run.fixture()["self.1"], "self.1");
  forward.Backward({}, {});
  run.CheckParameterGradients();
  run.CheckGradient(first, "self.0");
  run.CheckGradient(second, "self.1");
}

TEST(BertParityTest, LossesOfPretraining) {
  ParityRun run("bert_pretraining");
  const BertConfig config = ModelConfig();
  const Bert<float> bert(config, BuiltInScorers(), /*vocabulary=*/11,
                         run.store().Root());
  const TransformerHead<float> head(BertTransformer(config), bert.embedding(),
                                    kNoSpecialIds,
                                    run.store().Root().Sub("head"));
  const LinearLayer<float> next(run.store().Root().Sub("next_sentence"), 6, 2);
  Forward<float>& forward = run.Begin();
  const std::vector<int32_t> ids = run.fixture().Integers("ids");
  const std::vector<int32_t> types = run.fixture().Integers("types");
  const std::vector<int32_t> lengths = run.fixture().Integers("lengths");
  const Var<float> hidden = bert(
      forward, {.size = 3, .ids = ids, .types = types, .lengths = lengths});
  ExpectParity(head.Logits(forward, hidden).span(), run.fixture()["logits"],
               "logits");
  // Only predicted positions reach the head.
  std::vector<int32_t> rows;
  std::vector<int32_t> targets;
  const std::vector<int32_t> all = run.fixture().Integers("targets");
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] < 0) continue;
    rows.push_back(static_cast<int32_t>(i));
    targets.push_back(all[i]);
  }
  const auto count = static_cast<int64_t>(rows.size());
  const Var<float> masked = Gather(hidden.Reshape({15, 6}), rows, {count});
  const Var<float> words = head.Loss(forward, masked, targets, 0);
  const Var<float> sentences =
      CrossEntropy(next(forward, bert.Pool(forward, hidden)),
                   run.fixture().Integers("follows"));
  ExpectParity(words.span(), run.fixture()["words"], "words");
  ExpectParity(sentences.span(), run.fixture()["sentences"], "sentences");
  forward.Backward({words, sentences}, {1.0, 1.0});
  run.CheckParameterGradients();
}

}  // namespace
}  // namespace regard
