// Compares values and gradients in float with PyTorch, with a tolerance of
// 1e-5. Covers multi-head attention, position encodings, windows and relative
// positions.
#include "nn/testing/parity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/attend.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/kernels/relative_scores.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "nn/testing/fixture.h"
#include "nn/testing/held_sites.h"

namespace regard {
namespace {

// Two heads of width 3 with the inputs and the mask of a fixture.
class MultiHeadRun {
 public:
  explicit MultiHeadRun(const std::string& fixture)
      : fixture_(fixture, "attention/testdata") {}

  void Check(bool causal, bool composed) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    MultiHead config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "heads: 2 attention { scaled_dot {} }", &config));
    ParameterStore<float> store;
    const MultiHeadAttention<float> layer(
        scorers, config, store.Root(),
        {Width("query"), Width("key"), Width("value")});
    store.Finalize(/*seed=*/0);
    SetParameters(fixture_, &store);
    GradientSlab<float> gradients(store);
    Tape<float> tape;
    Forward<float> forward(tape, store, &gradients);
    forward.BeginStep();
    const auto input = [&](const std::string& name) {
      return tape.Input(fixture_[name].shape, fixture_.Floats(name));
    };
    const Var<float> query = input("query");
    const Var<float> key = causal ? query : input("key");
    const Var<float> value = causal ? query : input("value");
    const std::vector<int32_t> lengths = fixture_.Integers("lengths");
    CapturingHook<float> hook("attention/weights", /*gradients=*/true);
    if (composed) forward.set_hook(&hook);
    Expect("output",
           layer(forward, query, layer.Prepare(forward, key, value),
                 {.mask = {.key_lengths = lengths, .causal = causal}}));
    if (!causal) Expect("weights", hook["*weights"]);
    forward.Backward({}, {});
    ExpectParameterGradients(fixture_, store, gradients);
    ExpectParity(Grad(query), fixture_["grad.query"], "grad.query");
    ExpectParity(Grad(key), fixture_["grad.key"], "grad.key");
    ExpectParity(Grad(value), fixture_["grad.value"], "grad.value");
  }

 private:
  int64_t Width(const std::string& name) const {
    return fixture_[name].shape[2];
  }

  // Compares `output` with the fixture, and sets the gradient of `output` to
  // the fixture's weights.
  void Expect(const std::string& name, Var<float> output) {
    ExpectParity(output.span(), fixture_[name], name);
    const std::vector<float> weights = fixture_.Floats(name + ".weights");
    output.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
  }

  Fixture fixture_;
};

TEST(ParityTest, CrossAttentionWithItsWeights) {
  MultiHeadRun("multi_head_cross").Check(/*causal=*/false, true);
}

TEST(ParityTest, CausalSelfAttention) {
  for (const bool composed : {true, false}) {
    MultiHeadRun("multi_head_causal").Check(/*causal=*/true, composed);
  }
}

// Compares four heads with the score scaled_dot to PyTorch's
// scaled_dot_product_attention. Queries begin at position 2, and keys at
// position 0.
void CheckAttention(const std::string& name, const std::string& config,
                    bool causal = false) {
  const Fixture fixture(name, "attention/testdata");
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention attention;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "scaled_dot {} " + config, &attention));
  for (const bool context_only : {true, false}) {
    ParameterStore<float> store;
    const AttentionLayer<float> attender(
        scorers, attention, store.Root(),
        {.heads = 4,
         .query = 4,
         .key = 4,
         .key_heads = fixture["keys"].shape[1]});
    store.Finalize(/*seed=*/0);
    Tape<float> tape;
    Forward<float> forward(tape, store, nullptr);
    forward.BeginStep();
    const auto input = [&](const std::string& part) {
      return tape.Input(fixture[part].shape, fixture.Floats(part));
    };
    AttendInputs<float> inputs;
    inputs.score.queries = input("queries");
    const Var<float> keys = input("keys");
    inputs.score.keys = attender.Prepare(forward, {.keys = keys});
    inputs.score.positions.first_query = 2;
    inputs.score.mask.causal = causal;
    inputs.values = input("values");
    inputs.context_only = context_only;
    const Var<float> context = attender.Attend(forward, inputs).context;
    ExpectParity(context.span(), fixture["context"], name);
    tape.Backward(Sum(context * input("context.weights")));
    ExpectParity(Grad(inputs.score.queries), fixture["grad.queries"],
                 name + ": gradient of the queries");
    ExpectParity(Grad(keys), fixture["grad.keys"],
                 name + ": gradient of the keys");
    ExpectParity(Grad(inputs.values), fixture["grad.values"],
                 name + ": gradient of the values");
  }
}

TEST(ParityTest, Rotary) {
  CheckAttention("rotary", "position_encoding { rotary {} }");
  CheckAttention("rotary_interleaved",
                 "position_encoding { rotary { style: INTERLEAVED } }",
                 /*causal=*/true);
}

TEST(ParityTest, AlibiAsABias) {
  CheckAttention("alibi", "position_encoding { alibi {} }", /*causal=*/true);
}

TEST(ParityTest, Window) { CheckAttention("window", "window: 2"); }

TEST(ParityTest, GroupedHeads) { CheckAttention("grouped_heads", ""); }

TEST(ParityTest, SelectedBlocksOfKeys) {
  CheckAttention("moba", "selection { moba { block_size: 2 top_k: 3 } }",
                 /*causal=*/true);
  CheckAttention("nsa_blocks",
                 "selection { nsa_blocks { block_size: 2 top_n: 4 } }",
                 /*causal=*/true);
}

// Checks causal self-attention, with and without a request for its weights.
void CheckSelfAttention(const std::string& name, const std::string& fields,
                        const std::string& attention = "",
                        const std::string& score = "scaled_dot {}") {
  const Fixture fixture(name, "attention/testdata");
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  MultiHead heads;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "head_width: 3 bias: false attention { " + score + " " + attention +
          " } " + fields,
      &heads));
  for (const bool composed : {true, false}) {
    ParameterStore<float> store;
    const MultiHeadAttention<float> layer(scorers, heads, store.Root(),
                                          {6, 6, 6});
    store.Finalize(/*seed=*/0);
    SetParameters(fixture, &store);
    GradientSlab<float> gradients(store);
    Tape<float> tape;
    Forward<float> forward(tape, store, &gradients);
    forward.BeginStep();
    CapturingHook<float> hook("attention/weights", /*gradients=*/true);
    if (composed) forward.set_hook(&hook);
    const Var<float> x = tape.Input(fixture["x"].shape, fixture.Floats("x"));
    const Var<float> y = layer(forward, x, layer.Prepare(forward, x, x),
                               {.mask = {.causal = true}});
    ExpectParity(y.span(), fixture["y"], name);
    const std::vector<float> weights = fixture.Floats("y.weights");
    y.grad_ref().AddEach([&](int64_t i) { return weights[i]; });
    forward.Backward({}, {});
    ExpectParameterGradients(fixture, store, gradients);
    ExpectParity(Grad(x), fixture["grad.x"], name + ": gradient of x");
  }
}

TEST(ParityTest, Sink) { CheckSelfAttention("sink", "heads: 2", "sink {}"); }

TEST(ParityTest, ForgetGate) {
  CheckSelfAttention("forget", "heads: 2", "forget {}");
}

TEST(ParityTest, Formulas) {
  CheckSelfAttention("formula_distance", "heads: 2", "",
                     "formula { score: 'q . k / sqrt(d) + b[i - j]' parameter "
                     "{ name: 'b' table { lowest: -1 highest: 2 } } }");
  CheckSelfAttention("formula_inputs", "heads: 2", "",
                     "formula { score: 's * q . k / sqrt(d) + (A x_i) . (B "
                     "x_j) / 2' width: 4 }");
}

TEST(ParityTest, SoftCap) {
  CheckSelfAttention("soft_cap", "heads: 2",
                     "map_before { soft_cap { cap: 1 } }");
}

TEST(ParityTest, ScoreMaps) {
  CheckSelfAttention("top_k", "heads: 2", "map_before { top_k { keys: 2 } }");
  CheckSelfAttention("talking_heads", "heads: 2",
                     "map_before { talking_heads {} } "
                     "map_after { talking_heads {} }");
}

TEST(ParityTest, Normalizers) {
  CheckSelfAttention("scalable_softmax", "heads: 2",
                     "normalizer { scalable_softmax { bias: 0 } }");
  CheckSelfAttention("log_length", "heads: 2",
                     "normalizer { log_length { trained_length: 2 } }");
  CheckSelfAttention("relu_squared", "heads: 2",
                     "normalizer { relu_squared {} }");
  CheckSelfAttention("sigmoid", "heads: 2", "normalizer { sigmoid {} }");
}

TEST(ParityTest, NormOfQueriesAndKeys) {
  CheckSelfAttention("query_key_norm", "heads: 2 query_key_norm {}");
  CheckSelfAttention("query_key_norm_all_heads",
                     "heads: 2 query_key_norm { all_heads: true }");
  CheckSelfAttention("query_key_layer_norm",
                     "heads: 2 query_key_norm { kind: LAYER_NORM }");
  // PyTorch does not add an epsilon, so the test makes epsilon negligible.
  CheckSelfAttention(
      "query_key_l2_norm",
      "heads: 2 query_key_norm { kind: L2_NORM epsilon: 1e-30 }");
}

TEST(ParityTest, LatentKeysAndValues) {
  for (const std::string form : {"MATERIALISED", "ABSORBED"}) {
    const std::string options = "rank: 4 rotary_width: 2 form: " + form;
    CheckSelfAttention("latent", "heads: 2 latent { " + options + " }");
    CheckSelfAttention("latent_queries",
                       "heads: 2 latent { query_rank: 3 " + options + " }");
  }
}

TEST(ParityTest, OutputGate) {
  CheckSelfAttention("head_gate", "heads: 2 head_output { gate { bias: 2 } }");
}

TEST(ParityTest, NormOfHeads) {
  CheckSelfAttention("head_rms_norm", "heads: 2 head_output { norm {} }");
  CheckSelfAttention("head_group_norm",
                     "heads: 2 head_output { norm { kind: LAYER_NORM } }");
}

TEST(ParityTest, DifferentialAttention) {
  CheckSelfAttention("head_differential",
                     "heads: 4 head_output { differential {} }");
}

// Compares scaled inner products plus relative terms of the query, and
// optionally of the key. Queries begin at position 2, and keys at position 0.
void CheckRelative(const std::string& name, bool of_keys) {
  const Fixture fixture(name, "attention/testdata");
  Tape<float> tape;
  const auto input = [&](const std::string& part) {
    return tape.Input(fixture[part].shape, fixture.Floats(part));
  };
  const Var<float> query = input("query");
  const Var<float> key = input("key");
  const Var<float> embedding = input("embedding");
  const RelativeScorePairs positions = {
      .queries = 3, .keys = 5, .at = {.first_query = 2}};
  Var<float> scores = MatMul(query, key, {.b = true}) +
                      RelativeQueryScores(query, embedding, positions);
  if (of_keys) {
    scores = scores + RelativeKeyScores(key, embedding, positions);
  }
  scores = scores / std::sqrt(4.f);
  ExpectParity(scores.span(), fixture["scores"], "scores");
  tape.Backward(Sum(scores * input("scores.weights")));
  ExpectParity(Grad(query), fixture["grad.query"], "grad.query");
  ExpectParity(Grad(key), fixture["grad.key"], "grad.key");
  ExpectParity(Grad(embedding), fixture["grad.embedding"], "grad.embedding");
}

TEST(ParityTest, RelativeKey) { CheckRelative("relative_key", false); }

TEST(ParityTest, RelativeKeyQuery) {
  CheckRelative("relative_key_query", true);
}

}  // namespace
}  // namespace regard
