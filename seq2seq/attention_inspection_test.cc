#include "seq2seq/attention_inspection.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "attention/scoring/built_in_scores.h"
#include "attention/scoring_kit.h"
#include "autodiff/ops/shape_ops.h"
#include "gtest/gtest.h"
#include "seq2seq/batch.h"
#include "seq2seq/vocabulary.h"

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
  explicit Inspected(const ScorerRegistry& scorers, const Attention& attention,
                     Decoder::Query query) {
    Encoder encoder;
    encoder.set_embedding(3);
    encoder.set_hidden(4);
    Decoder decoder;
    decoder.set_embedding(3);
    decoder.set_hidden(4);
    decoder.set_query(query);
    decoder.set_readout(Decoder::STATE_CONTEXT_EMBEDDING);
    model = std::make_unique<Seq2SeqModel<double>>(
        encoder, decoder, attention, scorers,
        Seq2SeqModel<double>::Widths{.source_vocabulary = 7,
                                     .target_vocabulary = 8},
        parameters.Root());
    parameters.Finalize(/*seed=*/3);
    gradients = std::make_unique<GradientSlab<double>>(parameters);
    forward =
        std::make_unique<Forward<double>>(tape, parameters, gradients.get());
  }

  std::vector<InspectedStep> Inspect() {
    return InspectAttention<double>(*model, *forward, kSource, kTarget);
  }

  ParameterStore<double> parameters;
  std::unique_ptr<Seq2SeqModel<double>> model;
  std::unique_ptr<GradientSlab<double>> gradients;
  Tape<double> tape;
  std::unique_ptr<Forward<double>> forward;
};

TEST(InspectAttention, TellsTheWeightsAndTheirEntropy) {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention average;
  average.mutable_average();
  Inspected inspected(scorers, average, Decoder::PREVIOUS_STATE);
  const std::vector<InspectedStep> steps = inspected.Inspect();
  ASSERT_EQ(steps.size(), 3);
  for (const InspectedStep& step : steps) {
    ASSERT_EQ(step.weights.size(), 4);
    for (const double weight : step.weights) EXPECT_NEAR(weight, 0.25, 1e-12);
    EXPECT_NEAR(step.entropy, std::log(4), 1e-12);
    EXPECT_LT(step.log_probability, 0);
  }
}

// A score s_j moves all weights: d log p / d s_j = w_j (g_j - sum_k w_k g_k)
// for gradients g with respect to the weights w. The first step alone depends
// on nothing but its own weights, also through a table that all steps share.
TEST(InspectAttention, GradientsAgreeWithFiniteDifferencesOfTheScores) {
  ScorerRegistry scorers;
  scorers.Add<Table>("a table");
  Attention table;
  table.mutable_dot();
  for (const Decoder::Query query :
       {Decoder::PREVIOUS_STATE, Decoder::CURRENT_STATE}) {
    Inspected inspected(scorers, table, query);
    const InspectedStep step = inspected.Inspect()[0];
    double mean = 0;
    for (int j = 0; j < 4; ++j) mean += step.weights[j] * step.gradients[j];
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
      EXPECT_NEAR(step.weights[j] * (step.gradients[j] - mean), expected, 1e-9);
      largest = std::max(largest, std::abs(expected));
    }
    EXPECT_GT(largest, 1e-4);  // else nothing was tested
  }
}

TEST(InspectAttention, SeesTheStepsOfTheTrueTarget) {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  Attention additive;
  additive.mutable_additive();
  Inspected inspected(scorers, additive, Decoder::PREVIOUS_STATE);
  const std::vector<InspectedStep> steps = inspected.Inspect();
  inspected.forward->BeginStep();
  const std::vector<EncodedPair> pairs = {
      {{std::begin(kSource), std::end(kSource)},
       {std::begin(kTarget), std::end(kTarget)}}};
  const int64_t examples[] = {0};
  std::vector<Var<double>> weights;
  inspected.model->TeacherForced(
      *inspected.forward, MakeBatch(pairs, examples, inspected.tape.arena()),
      &weights);
  ASSERT_EQ(weights.size(), steps.size());
  for (size_t u = 0; u < steps.size(); ++u) {
    for (int j = 0; j < 4; ++j) {
      EXPECT_NEAR(steps[u].weights[j], weights[u].data()[j], 1e-12);
    }
  }
}

}  // namespace
}  // namespace regard
