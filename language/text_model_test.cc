#include "language/text_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "language/language_model.pb.h"
#include "nn/forward.h"
#include "nn/model.h"
#include "nn/parameters.h"
#include "nn/testing/warm_step.h"

namespace regard {
namespace {

LanguageModelConfig ConfigOf(const std::string& text) {
  LanguageModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      // Smooth, so that differences are derivatives.
      text + " transformer { width: 8 layers: 2 attention { heads: 2 } "
             "feed_forward { activation: GELU } }",
      &config));
  return config;
}

ScorerRegistry Scorers() {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

template <typename T>
TextModel<T> ModelOf(const std::string& config, const TextSplits& text,
                     const ModelOptions& options = {}) {
  return TextModel<T>(ConfigOf(config), Scorers(), text, options);
}

template <typename T>
void Spread(ParameterStore<T>& store) {
  const RandomStream random(5, "values");
  for (const ParameterInfo& info : store.parameters()) {
    for (int64_t i = 0; i < info.size(); ++i) {
      const auto at = static_cast<size_t>(info.offset + i);
      store.values()[at] = static_cast<T>(1.6 * random.UniformAt(at) - 0.8);
    }
  }
}

// Logits that are the same everywhere: `bias`.
template <typename T>
void SetLogits(ParameterStore<T>& store, const std::vector<T>& bias) {
  std::fill(store.values().begin(), store.values().end(), T(0));
  const absl::Span<T> of = store.value(*store.FindByName("output.bias"));
  ASSERT_EQ(of.size(), bias.size());
  std::copy(bias.begin(), bias.end(), of.begin());
}

template <typename T>
std::map<std::string, double> Evaluate(TextModel<T>& model,
                                       Split split = Split::kDev) {
  Tape<T> tape;
  Forward<T> forward(tape, model.parameters(), nullptr);
  std::vector<Measurement> measurements;
  model.Evaluate(forward, split, &measurements);
  std::map<std::string, double> values;
  for (const Measurement& measurement : measurements) {
    values[measurement.name] = measurement.value;
  }
  return values;
}

TEST(TextModelTest, LossOfATinyTextIsThatComputedByHand) {
  // Ids a, b, c; every character has probability 1/6, 2/6, 3/6.
  TextModel<double> model =
      ModelOf<double>("block: 3", {"abcabca", "cabb", ""});
  SetLogits<double>(model.parameters(), {0, std::log(2), std::log(3)});
  Tape<double> tape;
  Forward<double> forward(tape, model.parameters(), nullptr);
  forward.BeginStep();
  ASSERT_EQ(model.num_examples(), 2);
  const int64_t examples[] = {0, 1};
  Var<double> sums[1];
  double denominators[1];
  model.Denominators(examples, denominators);
  EXPECT_EQ(denominators[0], 6);
  EXPECT_EQ(model.CountWork(examples), 6);
  model.Loss(forward, examples, denominators, sums);
  // bca twice.
  EXPECT_NEAR(sums[0].item(), 2 * (std::log(3) + std::log(2) + std::log(6)),
              1e-12);
  // abb after c: in two blocks, the second of one id.
  const auto dev = Evaluate(model);
  const double loss = (std::log(6) + 2 * std::log(3)) / 3;
  EXPECT_NEAR(dev.at("loss"), loss, 1e-12);
  EXPECT_NEAR(dev.at("perplexity"), std::exp(loss), 1e-12);
  EXPECT_NEAR(dev.at("bits_per_character"), loss / std::log(2), 1e-12);
  EXPECT_EQ(dev.at("token_accuracy"), 0);
  EXPECT_TRUE(Evaluate(model, Split::kTest).empty());
}

TEST(TextModelTest, TheEndOfALineIsPredictedAndItsBeginningIsNot) {
  TextModel<double> model =
      ModelOf<double>("examples: LINES block: 3", {"ab\n\na\n", "b\nab", ""});
  // <bos>, <eos>, a, b.
  SetLogits<double>(model.parameters(),
                    {-1e30, std::log(4), std::log(3), std::log(1)});
  ASSERT_EQ(model.num_examples(), 2);
  EXPECT_EQ(model.CountWork({0}), 3);
  EXPECT_EQ(model.CountWork({1}), 2);
  EXPECT_EQ(model.Problem(), "");
  // b <eos> and a b <eos>, of eighths.
  const auto dev = Evaluate(model);
  EXPECT_NEAR(dev.at("loss"),
              (2 * std::log(8) + std::log(8.0 / 3) + 2 * std::log(2)) / 5,
              1e-12);
  EXPECT_NEAR(dev.at("token_accuracy"), 2.0 / 5, 1e-12);
}

TEST(TextModelTest, WordsHaveNoBitsPerCharacter) {
  TextModel<double> model =
      ModelOf<double>("unit: WORDS block: 2", {"a b a b", "a zebra b", ""});
  SetLogits<double>(model.parameters(), {0, 0, 0});
  const auto dev = Evaluate(model);
  EXPECT_NEAR(dev.at("loss"), std::log(3), 1e-12);
  EXPECT_EQ(dev.count("bits_per_character"), 0);
}

TEST(TextModelTest, AStrideOfOneMakesEveryOffsetAnExample) {
  const TextSplits text = {"abcdefgh", "", ""};
  EXPECT_EQ(ModelOf<float>("block: 3", text).num_examples(), 2);
  EXPECT_EQ(ModelOf<float>("block: 3 stride: 1", text).num_examples(), 5);
  EXPECT_EQ(ModelOf<float>("block: 7 stride: 1", text).num_examples(), 1);
  EXPECT_EQ(ModelOf<float>("block: 3 stride: 4", text).num_examples(), 2);
}

TEST(TextModelTest, SaysWhyATextDoesNotFit) {
  EXPECT_EQ(ModelOf<float>("block: 8", {"abcdefgh", "", ""}).Problem(),
            "needs 9 ids to train on; the text has 8");
  EXPECT_EQ(
      ModelOf<float>("block: 8 examples: LINES", {"\n\n", "a", ""}).Problem(),
      "the text has no line to train on");
  EXPECT_EQ(ModelOf<float>("block: 3 examples: LINES", {"ab\n", "a\nabc", ""})
                .Problem(),
            "must be at least 4, the longest line of the text and its <bos>");
}

// The loss of the whole text, each id predicted alone from the ids that its
// block shows it.
double ReferenceLoss(const TextModel<double>& model, int64_t block,
                     int64_t stride) {
  Tape<double> tape;
  Forward<double> forward(tape, model.language_model().parameters(), nullptr);
  const std::vector<int32_t>& ids = model.dev().ids;
  const auto end = static_cast<int64_t>(ids.size()) - 1;
  double sum = 0;
  for (int64_t i = 0; i < end; ++i) {
    // The first block that reaches id i.
    const int64_t first =
        i < block ? 0 : (i - block + 1 + stride - 1) / stride * stride;
    forward.BeginStep();
    const TextWindow window[] = {{first, i - first + 1}};
    const DecoderBatch batch = MakeTextBatch(ids, window, tape.arena());
    const Var<double> readout =
        model.language_model()
            .decoder()
            .Run(forward, {.sources = 1}, batch.input.ids)
            .readout;
    const Var<double> logits =
        model.language_model().decoder().head().Logits(forward, readout);
    const Var<double> log_softmax = LogSoftmax(logits);
    sum -= log_softmax.data()[(i - first) * logits.cols() + ids[i + 1]];
  }
  return sum / static_cast<double>(end);
}

TEST(TextModelTest, AnEvaluationPredictsTheWholeSplitOnce) {
  std::string dev;
  const RandomStream random(1, "text");
  for (uint64_t i = 0; i < 53; ++i) {
    dev.push_back(static_cast<char>('a' + random.BelowAt(i, 5)));
  }
  for (const int stride : {0, 8, 3, 1}) {
    TextModel<double> model =
        ModelOf<double>("block: 8 evaluation_stride: " + std::to_string(stride),
                        {"abcdeabcde", dev, ""});
    Spread(model.parameters());
    EXPECT_NEAR(Evaluate(model).at("loss"),
                ReferenceLoss(model, 8, stride == 0 ? 8 : stride), 1e-12)
        << "stride " << stride;
  }
}

TEST(TextModelTest, GradientAgreesWithDifferences) {
  for (const char* config :
       {"block: 5 stride: 1", "block: 9 examples: LINES"}) {
    TextModel<double> model =
        ModelOf<double>(config, {"ab\ncabbac\nb\nabc\n", "", ""});
    Spread(model.parameters());
    ParameterStore<double>& store = model.parameters();
    GradientSlab<double> gradients(store);
    Tape<double> tape;
    Forward<double> forward(tape, store, &gradients);
    const int64_t examples[] = {2, 0, 1};
    const double denominators[] = {1};
    Var<double> sums[1];
    const auto loss = [&] {
      forward.BeginStep();
      model.Loss(forward, examples, denominators, sums);
      return sums[0].item();
    };
    loss();
    const double seeds[] = {1};
    forward.Backward(sums, seeds);
    const absl::Span<double> values = store.values();
    const std::vector<double> start(values.begin(), values.end());
    const RandomStream random(11, "direction");
    for (const ParameterInfo& info : store.parameters()) {
      double expected = 0;
      std::vector<double> direction(values.size());
      for (int64_t i = 0; i < info.size(); ++i) {
        const auto at = static_cast<size_t>(info.offset + i);
        direction[at] = 2 * random.UniformAt(at) - 1;
        expected += direction[at] * gradients.values()[at];
      }
      const auto loss_at = [&](double step) {
        for (size_t i = 0; i < values.size(); ++i) {
          values[i] = start[i] + step * direction[i];
        }
        return loss();
      };
      constexpr double kStep = 1e-4;
      const double difference = (8 * (loss_at(kStep) - loss_at(-kStep)) -
                                 (loss_at(2 * kStep) - loss_at(-2 * kStep))) /
                                (12 * kStep);
      loss_at(0);
      EXPECT_NEAR(difference, expected, 1e-8 * (1 + std::abs(expected)))
          << info.name << " of " << config;
    }
  }
}

TEST(TextModelTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer allocates";
  if (!CountsAllocations()) GTEST_SKIP();
  for (const char* config : {"block: 5", "block: 9 examples: LINES"}) {
    TextModel<float> model =
        ModelOf<float>(config, {"abcd\ncabbac\nb\nabc\n", "", ""});
    EXPECT_EQ(AllocationsOfAWarmStep(model, {2, 0}), 0) << config;
  }
}

}  // namespace
}  // namespace regard
