#include "seq2seq/attention_inspection.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_kit.h"
#include "autodiff/ops/shape_ops.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"
#include "seq2seq/attention_maps.h"
#include "seq2seq/decoder.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/memory.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/n_gram_decoder.h"

namespace regard {
namespace {

constexpr int32_t kSource[] = {4, 6, 5, Vocabulary::kEnd};
constexpr int32_t kTarget[] = {5, 4, Vocabulary::kEnd};

// A score for each source position, whatever stands there: so that a test can
// turn on the weights themselves.
template <typename T>
class Table : public ScoringFunction<T> {
 public:
  using Options = DotScore;

  Table(const Options&, ParameterScope<T> scope, const ScoreWidths&)
      : scores_(scope.Add("scores", {4}, Uniform(1))) {}

  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override {
    return BroadcastTo(forward[scores_].WithShape({1, 1, 1, 4}),
                       ScoreShape(in));
  }

 private:
  Parameter<T> scores_;
};

struct Inspected {
  explicit Inspected(const AttentionRegistry& scorers,
                     const Attention& attention,
                     RecurrentDecoderConfig::Query query) {
    EncoderDecoderConfig config;
    config.mutable_encoder()->set_embedding(3);
    config.mutable_encoder()->set_hidden(4);
    RecurrentDecoderConfig& decoder = *config.mutable_decoder();
    decoder.set_embedding(3);
    decoder.set_hidden(4);
    decoder.set_query(query);
    decoder.set_readout(RecurrentDecoderConfig::STATE_CONTEXT_EMBEDDING);
    *config.mutable_attention() = attention;
    model = MakeModel<double>(config, scorers, {.source = 7, .target = 8},
                              parameters.Root());
    parameters.Finalize(/*seed=*/3);
    gradients = std::make_unique<GradientSlab<double>>(parameters);
    forward =
        std::make_unique<Forward<double>>(tape, parameters, gradients.get());
  }

  std::vector<InspectedStep> Inspect() { return Inspect(*forward); }
  std::vector<InspectedStep> Inspect(Forward<double>& with) {
    static constexpr int32_t kLengths[] = {std::size(kSource)};
    return InspectAttention<double>(
        *model.decoder, with,
        [this](Forward<double>& step) {
          return model.encoder->Encode(step, kSource, kLengths);
        },
        kTarget);
  }

  ParameterStore<double> parameters;
  EncoderDecoder<double> model;
  std::unique_ptr<GradientSlab<double>> gradients;
  Tape<double> tape;
  std::unique_ptr<Forward<double>> forward;
};

TEST(InspectAttention, TellsTheWeightsAndTheirEntropy) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention average;
  average.mutable_average();
  Inspected inspected(scorers, average, RecurrentDecoderConfig::PREVIOUS_STATE);
  const std::vector<InspectedStep> steps = inspected.Inspect();
  ASSERT_EQ(steps.size(), 3);
  for (const InspectedStep& step : steps) {
    ASSERT_EQ(step.maps.size(), 1);
    const InspectedMap& map = step.maps[0];
    EXPECT_EQ(map.name, "attention");
    EXPECT_TRUE(map.over_memory);
    ASSERT_EQ(map.weights.size(), 4);
    for (const double weight : map.weights) EXPECT_NEAR(weight, 0.25, 1e-12);
    EXPECT_EQ(step.alignment, map.weights);
    EXPECT_NEAR(Entropy(step.alignment), std::log(4), 1e-12);
    EXPECT_LT(step.log_probability, 0);
  }
}

// A score s_j moves all weights: d log p / d s_j = w_j (g_j - sum_k w_k g_k)
// for gradients g with respect to the weights w. The first step alone depends
// on nothing but its own weights, also through a table that all steps share.
TEST(InspectAttention, GradientsAgreeWithFiniteDifferencesOfTheScores) {
  AttentionRegistry scorers;
  scorers.Add<Table>("a table");
  Attention table;
  table.mutable_dot();
  for (const RecurrentDecoderConfig::Query query :
       {RecurrentDecoderConfig::PREVIOUS_STATE,
        RecurrentDecoderConfig::CURRENT_STATE}) {
    Inspected inspected(scorers, table, query);
    const InspectedMap map = inspected.Inspect()[0].maps[0];
    double mean = 0;
    for (int j = 0; j < 4; ++j) mean += map.weights[j] * map.gradients[j];
    const auto scores = inspected.parameters.value(
        *inspected.parameters.FindByName("attention.scores"));
    double largest = 0;
    for (int j = 0; j < 4; ++j) {
      constexpr double kStep = 1e-5;
      const double score = scores[j];
      scores[j] = score + kStep;
      const double above = inspected.Inspect()[0].log_probability;
      scores[j] = score - kStep;
      const double below = inspected.Inspect()[0].log_probability;
      scores[j] = score;
      const double expected = (above - below) / (2 * kStep);
      EXPECT_NEAR(map.weights[j] * (map.gradients[j] - mean), expected, 1e-9);
      largest = std::max(largest, std::abs(expected));
    }
    EXPECT_GT(largest, 1e-4);  // else nothing was tested
  }
}

TEST(InspectAttention, SeesTheStepsOfTheTrueTarget) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention additive;
  additive.mutable_additive();
  Inspected inspected(scorers, additive,
                      RecurrentDecoderConfig::PREVIOUS_STATE);
  const std::vector<InspectedStep> steps = inspected.Inspect();
  inspected.forward->BeginStep();
  const std::vector<EncodedPair> pairs = {
      {{std::begin(kSource), std::end(kSource)},
       {std::begin(kTarget), std::end(kTarget)}}};
  const int64_t examples[] = {0};
  const AttentionMap<double> alignment =
      MemoryAlignment<double>(MapsOf(*inspected.forward, {kDecoderMaps}, [&] {
        inspected.model.Run(*inspected.forward,
                            MakeBatch(pairs, examples, inspected.tape.arena()));
      }));
  ASSERT_EQ(alignment.shape, Shape({1, 1, 3, 4}));
  for (size_t u = 0; u < steps.size(); ++u) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_NEAR(steps[u].alignment[j], alignment.weights[4 * u + j], 1e-12);
    }
  }
}

TEST(InspectAttention, NeedsNoGradientsOfParameters) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention additive;
  additive.mutable_additive();
  Inspected inspected(scorers, additive,
                      RecurrentDecoderConfig::PREVIOUS_STATE);
  Forward<double> forward(inspected.tape, inspected.parameters, nullptr);
  const std::vector<InspectedStep> without = inspected.Inspect(forward);
  const std::vector<InspectedStep> with = inspected.Inspect();
  ASSERT_EQ(without.size(), with.size());
  for (size_t u = 0; u < with.size(); ++u) {
    EXPECT_EQ(without[u].log_probability, with[u].log_probability);
    EXPECT_EQ(without[u].maps[0].weights, with[u].maps[0].weights);
    EXPECT_EQ(with[u].maps[0].gradients.size(), 4);
    EXPECT_EQ(without[u].maps[0].gradients, with[u].maps[0].gradients);
  }
}

TEST(InspectAttention, ADecoderWithoutMapsHasLogProbabilities) {
  constexpr double kNone = 0;
  // <unk>, <pad>, <bos>, <eos> and a word.
  const NGramDecoder decoder({{0.5, kNone, kNone, 0.5, kNone},
                              {1, kNone, kNone, kNone, kNone},
                              {kNone, kNone, kNone, 0.25, 0.75},
                              {kNone, kNone, kNone, 1, kNone},
                              {0.5, kNone, kNone, 0.125, 0.375}});
  ParameterStore<float> none;
  none.Finalize(0);
  Tape<float> tape;
  Forward<float> forward(tape, none, nullptr);
  const int32_t target[] = {4, 4, Vocabulary::kEnd};
  const std::vector<InspectedStep> steps = InspectAttention<float>(
      decoder, forward,
      [](Forward<float>&) { return Memory<float>{.sources = 1}; }, target);
  ASSERT_EQ(steps.size(), 3);
  const double expected[] = {0.75, 0.375, 0.125};
  for (size_t u = 0; u < 3; ++u) {
    EXPECT_NEAR(steps[u].log_probability, std::log(expected[u]), 1e-6);
    EXPECT_TRUE(steps[u].maps.empty());
    EXPECT_TRUE(steps[u].alignment.empty());
  }
}

}  // namespace
}  // namespace regard
