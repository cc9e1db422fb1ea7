// Tests that self-attention step by step, with a growing cache, equals
// self-attention over all positions at once.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attention/attention_registry.h"
#include "attention/checks/tape_state.h"
#include "attention/layer_state.h"
#include "attention/multi_head.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/testing/joined_source.h"
#include "autodiff/tape.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

extern "C" void RegisterRunningSumInAttentionRegistry(
    AttentionRegistry& scorers);

namespace {

constexpr int64_t kBatch = 2;
constexpr int64_t kTime = 7;
constexpr int64_t kWidth = 6;

std::vector<double> Sequence() {
  std::vector<double> x(kBatch * kTime * kWidth);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = std::sin(static_cast<double>(i * i));
  }
  return x;
}

// The positions begin .. begin + count - 1 of every example.
Var<double> Part(Tape<double>& tape, int64_t begin, int64_t count) {
  const std::vector<double> all = Sequence();
  Var<double> part = tape.Constant({kBatch, count, kWidth});
  for (int64_t b = 0; b < kBatch; ++b) {
    std::copy_n(all.data() + (b * kTime + begin) * kWidth, count * kWidth,
                part.data() + b * count * kWidth);
  }
  return part;
}

// Causal self-attention in steps of these sizes must equal the full pass.
void ExpectStepsEqualTheFullPass(
    const std::string& attention, const std::vector<int64_t>& steps,
    const std::string& layer_fields = "heads: 2 head_width: 4") {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  RegisterRunningSumInAttentionRegistry(scorers);
  MultiHead config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      layer_fields + " attention { " + attention + " }", &config));
  ParameterStore<double> store;
  StateSlotNames slots;
  const SlotScope slot_scope(slots, "attention");
  const MultiHeadAttention<double> layer(scorers, config, store.Root(),
                                         {kWidth, kWidth, kWidth, &slot_scope});
  store.Finalize(/*seed=*/1);
  Tape<double> tape;
  Forward<double> forward(tape, store, nullptr);

  forward.BeginStep();
  const Var<double> x = Part(tape, 0, kTime);
  const Var<double> all = layer(forward, x, layer.Prepare(forward, x, x),
                                {.mask = {.causal = true}});
  TapeLayerState<double> state(slots);
  PreparedSource<double> source;
  int64_t begin = 0;
  for (const int64_t count : steps) {
    const Var<double> part = Part(tape, begin, count);
    source =
        JoinSources(source, layer.Prepare(forward, part, part, begin, &state));
    const Var<double> y = layer(forward, part, source,
                                {.mask = {.causal = true},
                                 .positions = {.first_query = begin},
                                 .state = &state});
    for (int64_t b = 0; b < kBatch; ++b) {
      for (int64_t i = 0; i < count * kWidth; ++i) {
        ASSERT_NEAR(y.data()[b * count * kWidth + i],
                    all.data()[(b * kTime + begin) * kWidth + i], 1e-14)
            << attention << ", example " << b << ", step at " << begin;
      }
    }
    begin += count;
  }
  EXPECT_EQ(begin, kTime);
}

constexpr const char* kScores[] = {
    "dot {}",
    "scaled_dot {}",
    "additive { width: 5 }",
    "relative_dot { max_position: 7 }",
    "relative_dot { terms: RELATIVE_KEY_QUERY max_position: 7 }",
    "dot {} position_encoding { rotary {} }",
    "scaled_dot {} position_encoding { rotary { style: INTERLEAVED width: 2 } "
    "}",
    "dot {} position_encoding { alibi {} }",
    "dot {} position_encoding { relative_buckets { buckets: 4 } } window: 4",
    "dot {} window: 3",
    "dot {} sink {}",
    "dot {} map_before { soft_cap { cap: 1 } }",
    "dot {} selection { moba { block_size: 2 top_k: 2 } }",
    "dot {} selection { nsa_blocks { block_size: 2 top_n: 3 } } window: 5",
    "gaussian {} selection { moba { block_size: 2 top_k: 2 } }",
    "scaled_bilinear {} sink {} map_after { soft_cap { cap: 0.2 } }",
    "additive { width: 5 } sink { logit: 1 } position_encoding { alibi {} }",
    "additive { width: 5 } position_encoding { rotary { width: 2 } }",
    "additive { width: 5 } position_encoding { alibi {} }",
    "additive { width: 5 } position_encoding { relative_buckets { "
    "bidirectional: false } }",
    "additive { width: 5 } window: 2",
    "scaled_bilinear {} position_encoding { rotary { width: 2 } }",
    "scaled_bilinear {} position_encoding { alibi {} } window: 5",
    "scaled_bilinear {} normalizer { sparsemax {} } window: 2",
    "dot {} normalizer { entmax15 {} } position_encoding { alibi {} }",
    "dot {} normalizer { sigmoid {} } position_encoding { rotary { width: 2 } "
    "}",
    "dot {} normalizer { scalable_softmax { bias: 1 } } sink {} "
    "position_encoding { alibi {} }",
    "dot {} normalizer { log_length { trained_length: 3 } }",
    "scaled_dot {} normalizer { relu_squared {} } window: 4",
    "dot {} map_before { top_k { keys: 3 } } position_encoding { alibi {} }",
    "dot {} map_before { talking_heads {} } map_after { talking_heads {} }",
    "dot {} forget {}",
    "additive { width: 5 } forget { bias: 2 } sink {}",
    "cosine {} forget {} position_encoding { rotary { width: 2 } } window: 4",
    "outside { [regard.running_sum] {} } forget {}",
    "outside { [regard.running_sum] {} }",
    "outside { [regard.running_sum] { bounded: true } } window: 3",
    "outside { [regard.running_sum] {} } sink {} position_encoding { rotary {} "
    "}",
};

TEST(MultiHeadStepsTest, OnePositionAtATimeEqualsTheFullPass) {
  for (const char* score : kScores) {
    const std::vector<int64_t> steps(kTime, 1);
    ExpectStepsEqualTheFullPass(score, steps);
    ExpectStepsEqualTheFullPass(score, steps,
                                "heads: 4 key_heads: 2 head_width: 4");
  }
}

TEST(MultiHeadStepsTest, StepsEqualTheFullPassWithANormOfQueriesAndKeys) {
  for (const char* score :
       {"dot {}", "scaled_dot {} position_encoding { rotary {} }",
        "additive { width: 5 } window: 3"}) {
    for (const char* norm :
         {"", "kind: LAYER_NORM all_heads: true", "kind: L2_NORM"}) {
      ExpectStepsEqualTheFullPass(
          score, std::vector<int64_t>(kTime, 1),
          std::string("heads: 4 key_heads: 2 head_width: 4 query_key_norm { ") +
              norm + " }");
    }
  }
}

// The layers have head outputs, or keys and values that differ in width and in
// number of heads.
TEST(MultiHeadStepsTest, StepsEqualTheFullPassWithHeadOutputs) {
  for (const char* score :
       {"scaled_dot {}", "scaled_dot {} position_encoding { rotary {} }",
        "additive { width: 5 } window: 3", "gaussian {}"}) {
    for (const char* fields :
         {"key_heads: 2 head_output { gate {} }",
          "key_heads: 4 value_heads: 2 head_output { gate { granularity: HEAD "
          "bias: 1 } }",
          "key_heads: 1 value_heads: 4 value_width: 3 head_output { norm {} }",
          "head_output { norm { kind: LAYER_NORM } }",
          "head_output { differential {} }", "head_output { none {} }",
          "value_heads: 1 value_width: 8 head_output { differential {} }"}) {
      const std::string layer = std::string("heads: 4 head_width: 4 ") + fields;
      ExpectStepsEqualTheFullPass(score, std::vector<int64_t>(kTime, 1), layer);
      ExpectStepsEqualTheFullPass(score, {4, 1, 2}, layer);
    }
  }
}

TEST(MultiHeadStepsTest, StepsEqualTheFullPassWithLatents) {
  for (const char* score :
       {"scaled_dot {}", "dot {} sink {} position_encoding { alibi {} }",
        "scaled_dot {} normalizer { sparsemax {} } window: 3"}) {
    for (const std::string form : {"MATERIALISED", "ABSORBED"}) {
      for (const char* latent : {"rank: 5", "rank: 3 rotary_width: 0",
                                 "rank: 4 rotary_width: 6 query_rank: 3"}) {
        const std::string layer =
            "heads: 3 head_width: 4 latent { form: " + form + " " + latent +
            " }";
        ExpectStepsEqualTheFullPass(score, std::vector<int64_t>(kTime, 1),
                                    layer);
        ExpectStepsEqualTheFullPass(score, {4, 1, 2}, layer);
      }
    }
  }
  ExpectStepsEqualTheFullPass(
      "additive { width: 5 }", std::vector<int64_t>(kTime, 1),
      "heads: 2 head_width: 4 value_width: 3 latent { rank: 4 }");
  ExpectStepsEqualTheFullPass(
      "relative_dot { max_position: 7 }", {3, 1, 3},
      "heads: 2 head_width: 4 value_width: 3 latent { rank: 4 }");
}

TEST(MultiHeadStepsTest, APromptAndThenStepsEqualTheFullPass) {
  for (const char* score : kScores) {
    ExpectStepsEqualTheFullPass(score, {4, 1, 2});
  }
}

}  // namespace
}  // namespace regard
