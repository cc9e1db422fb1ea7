#include "attention/inspection/explanation.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "attention/inspection/trace.h"
#include "attention/kernels/inner_form.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Names(const ScoreExplanation& explanation) {
  std::vector<std::string> names;
  for (const ScoreSource& of : explanation.sources) {
    names.push_back(of.Name());
  }
  return names;
}

// A variant of the toy pass. The tests compute its terms by hand.
struct Toy {
  std::vector<double> context = {1, 1, 2, 0};
  bool joins_heads = false;  // whether the output is not a sum over heads
  bool squares_keys = false;
  bool embeds = true;
  int64_t visits = 1;
};

// A pass with two positions of width 2. Layer 0 has one head of width 2, or two
// heads of width 1, and returns context + (0.5, 0). Layer 1 has the queries
// q = 2 x and the keys k = x + (0, 1).
TraceablePrediction<double> TracedToy(const Toy& toy) {
  TraceablePrediction<double> traced;
  traced.pass = [toy](Forward<double>& forward) {
    Tape<double>& tape = forward.tape();
    const auto constant = [&](const Shape& shape,
                              const std::vector<double>& values) {
      return tape.Constant(shape, values);
    };
    const NameScope<double> decoder(tape, "decoder");
    Var<double> x = constant({1, 2, 2}, {1, 0, 0, 2});
    Var<double> positions = constant({2, 2}, {0, 1, 1, 0});
    if (toy.embeds) {
      x = forward.Site("token_embedding", x);
      positions = forward.Site("position_embedding", positions);
    }
    x = x + positions;
    {
      const NameScope<double> layer(tape, "layers", int64_t{0});
      const NameScope<double> self(tape, "self");
      Var<double> context;
      {
        const NameScope<double> attention(tape, "attention");
        const Shape heads =
            toy.joins_heads ? Shape({1, 2, 2, 1}) : Shape({1, 1, 2, 2});
        context = forward.Site("context", constant(heads, toy.context));
      }
      Var<double> output = context.Reshape({1, 2, 2});
      if (toy.joins_heads) output = output / Sqrt(Sum(Square(output)) + 1);
      output = output + constant({2}, {.5, 0});
      if (toy.embeds) output = forward.Site("attention_output", output);
      x = x + output;
    }
    const NameScope<double> layer(tape, "layers", int64_t{1});
    const NameScope<double> self(tape, "self");
    const NameScope<double> attention(tape, "attention");
    const Var<double> rows = x.Reshape({1, 1, 2, 2});
    Var<double> keys = rows + constant({2}, {0, 1});
    if (toy.squares_keys) keys = Square(keys);
    const Var<double> queries = forward.Site("queries", rows * 2);
    keys = forward.Site("keys", keys);
    for (int64_t i = 0; i < toy.visits; ++i) {
      const Var<double> scores =
          forward.Site("scores", InnerProducts(queries, keys));
      forward.Site("weights", Softmax(scores));
    }
    return Var<double>();
  };
  return traced;
}

class ToyTest : public ::testing::Test {
 protected:
  ToyTest() : forward_(tape_, Finalized(), nullptr) {}

  absl::StatusOr<ScoreExplanation> Explain(const Toy& toy,
                                           const ExplainOptions& options) {
    return regard::Explain(forward_, TracedToy(toy), options);
  }

  const ParameterStore<double>& Finalized() {
    none_.Finalize(0);
    return none_;
  }

  ParameterStore<double> none_;
  Tape<double> tape_;
  Forward<double> forward_;
};

// The query at position 1 is 2 * ((0, 2) + (1, 0) + (2, 0) + (0.5, 0)) = (7,
// 4). The key at position 0 is (1, 0) + (0, 1) + (1, 1) + (0.5, 1) = (2.5, 3).
TEST_F(ToyTest, TermsMatchHandComputedValues) {
  const auto explanation = Explain({}, {.site = "*layers[1]*", .key = 0});
  ASSERT_THAT(explanation.status(), testing::IsOk());
  EXPECT_EQ(explanation->site, "decoder/layers[1]/self/attention/weights");
  EXPECT_EQ(explanation->query, 1);
  EXPECT_EQ(explanation->query_label, "1");
  EXPECT_EQ(explanation->key_label, "0");
  EXPECT_EQ(explanation->score, 29.5);
  EXPECT_EQ(explanation->total, 29.5);
  // The score of key 1 is (7, 4) . (3.5, 3) = 36.5.
  EXPECT_DOUBLE_EQ(explanation->weight, 1 / (1 + std::exp(36.5 - 29.5)));
  EXPECT_THAT(
      Names(*explanation),
      ElementsAre("decoder/token_embedding", "decoder/position_embedding",
                  "decoder/layers[0]/self, head 0", "biases"));
  EXPECT_THAT(explanation->terms, ElementsAre(0, 4, 4, 4,  //
                                              2, 0, 2, 1,  //
                                              4, 0, 4, 2,  //
                                              1, 0, 1, .5));
  EXPECT_EQ(explanation->sources[0].as_query, 12);
  EXPECT_EQ(explanation->sources[0].as_key, 7);
  EXPECT_EQ(explanation->sources[3].as_query, 2.5);
  EXPECT_EQ(explanation->sources[3].as_key, 7.5);
  EXPECT_EQ(explanation->sources[2].source->site,
            "decoder/layers[0]/self/attention/context");
  EXPECT_EQ(explanation->sources[2].source->head, 0);
  EXPECT_FALSE(explanation->sources[3].source.has_value());
}

TEST_F(ToyTest, TheDefaultKeyHasTheLargestWeight) {
  const auto last = Explain({}, {.site = "decoder/layers[1]/self/attention"});
  ASSERT_THAT(last.status(), testing::IsOk());
  EXPECT_EQ(last->key, 1);
  // The query at position 0 is (5, 4). Its scores are (5, 4) . (2.5, 3) = 24.5
  // and (5, 4) . (3.5, 3) = 29.5.
  const auto first = Explain({}, {.site = "*[1]*/scores", .query = 0});
  ASSERT_THAT(first.status(), testing::IsOk());
  EXPECT_EQ(first->key, 1);
  EXPECT_EQ(first->score, 29.5);
}

// The output scales both heads by 1 / sqrt(1 + 1 + 4 + 1). This factor depends
// on both heads, so the output is not a sum over heads, and the attention layer
// must be one source.
TEST_F(ToyTest, AnAttentionThatIsNotTheSumOfItsHeadsIsOneSource) {
  const auto explanation =
      Explain({.joins_heads = true}, {.site = "*layers[1]*", .key = 0});
  ASSERT_THAT(explanation.status(), testing::IsOk());
  EXPECT_THAT(Names(*explanation), Contains("decoder/layers[0]/self"));
  EXPECT_THAT(Names(*explanation), Not(Contains(HasSubstr("head"))));
  EXPECT_NEAR(explanation->total, explanation->score, 1e-13);
  EXPECT_NEAR(explanation->score,
              2 * (1.5 + 2 / std::sqrt(7)) * (1.5 + 1 / std::sqrt(7)) +
                  2 * 2 * (2 + 1 / std::sqrt(7)),
              1e-12);
}

TEST_F(ToyTest, SaysWhatCannotBeExplained) {
  const auto error = [&](const Toy& toy, const ExplainOptions& options) {
    const absl::Status status = Explain(toy, options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(error({}, {.site = "*layers[0]*"}),
            "'*layers[0]*' matches no attention; the attentions of this model "
            "are decoder/layers[*]/self/attention/weights");
  EXPECT_EQ(error({}, {.site = "*", .head = 1}),
            "head: must be less than 1, the number of heads; got 1");
  EXPECT_EQ(error({}, {.site = "*", .query = 2}),
            "query: must be less than 2, the number of queries; got 2");
  EXPECT_EQ(error({}, {.site = "*", .key = 5}),
            "key: must be less than 2, the number of keys; got 5");
  EXPECT_THAT(error({.squares_keys = true}, {.site = "*"}),
              HasSubstr("is not linear in what its query and its key read"));
  EXPECT_EQ(error({.embeds = false}, {.site = "*"}),
            "the queries of 'decoder/layers[1]/self/attention' are not "
            "computed from the residual stream of a Transformer");
  EXPECT_THAT(error({.visits = 2}, {.site = "*"}),
              HasSubstr("computes 'decoder/layers[1]/self/attention/scores' "
                        "several times"));
}

}  // namespace
}  // namespace regard
