#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "autodiff/tape.h"
#include "evaluation/prediction.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "options/reader.h"

namespace regard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kRecall[] =
    "data { associative_recall { train: 9 dev: 3 test: 5 vocabulary: 20 "
    "length: 12 pairs: 2 } } model { token_classifier { transformer { width: 8 "
    "layers: 1 attention { heads: 1 } feed_forward { none {} } } } }";

std::unique_ptr<Task> Make(const std::string& config,
                           std::vector<std::string> overrides = {}) {
  const auto loaded =
      LoadConfig({"test.textproto", config}, overrides, BuiltInPlugins());
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return BuildTask(loaded->config, BuiltInPlugins()).value();
}

TEST(TokenClassificationTaskTest, LossIsOverLabels) {
  const auto task = Make(kRecall);
  Model<float>& model = task->model();
  EXPECT_EQ(model.num_examples(), 9);
  const std::vector<int64_t> examples = {0, 4, 8};
  EXPECT_EQ(model.CountWork(examples), 6);
  double denominator = 0;
  model.Denominators(examples, {&denominator, 1});
  EXPECT_EQ(denominator, 6);
  // All logits are 0, so the predicted distribution over the 20 tokens is
  // uniform.
  for (float& value : model.parameters().values()) value = 0;
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  forward.BeginStep();
  Var<float> sum;
  model.Loss(forward, examples, {&denominator, 1}, {&sum, 1});
  EXPECT_NEAR(sum.item(), 6 * std::log(20.0), 1e-4);
}

// Sequences of different lengths are padded in a batch. Padding must not change
// the loss.
TEST(TokenClassificationTaskTest, PaddingChangesNoLoss) {
  const auto task = Make(
      "data { parity { train: 8 dev: 0 test: 0 min_length: 1 max_length: 9 } } "
      "model { token_classifier { transformer { width: 8 layers: 1 mixer { "
      "delta_net { heads: 2 } } } } }");
  Model<float>& model = task->model();
  Tape<float> tape;
  Forward<float> forward(tape, model.parameters(), nullptr);
  const auto loss = [&](const std::vector<int64_t>& examples) {
    forward.BeginStep();
    double denominator = 1;
    Var<float> sum;
    model.Loss(forward, examples, {&denominator, 1}, {&sum, 1});
    return static_cast<double>(sum.item());
  };
  double apart = 0;
  std::set<int64_t> lengths;
  for (int64_t i = 0; i < 8; ++i) {
    apart += loss({i});
    lengths.insert(model.Lengths(i)[0]);
  }
  EXPECT_GT(lengths.size(), 2u);
  EXPECT_NEAR(loss({0, 1, 2, 3, 4, 5, 6, 7}), apart, 1e-4);
}

TEST(TokenClassificationTaskTest, EvaluatesEachSequence) {
  const auto task = Make(kRecall);
  Tape<float> tape;
  tape.set_recording(false);
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const auto sets = task->model().Evaluate(forward, Split::kTest);
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_THAT(sets[0].examples, SizeIs(5));
  EXPECT_EQ(sets[0].metrics[0].name, "accuracy");
  EXPECT_THAT(sets[0].metrics[0].statistics, SizeIs(10));
  EXPECT_GT(sets[0].totals.at("loss"), 0);
  EXPECT_THAT(task->model().Evaluate(forward, Split::kTrain), IsEmpty());
  EXPECT_THAT(task->Show(forward, true).heat_maps, SizeIs(1));
}

TEST(TokenClassificationTaskTest, AnswersNumbers) {
  const auto task = Make(kRecall);
  Tape<float> tape;
  tape.set_recording(false);
  Forward<float> forward(tape, task->model().parameters(), nullptr);
  const auto prediction = task->Predict(forward, {.text = "3 14 3"}, {});
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->input, "3 14 3");
  EXPECT_THAT(prediction->choices, ElementsAre(SizeIs(5)));
  const auto example = task->Predict(forward, {.example = 4}, {});
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_THAT(example->choices, SizeIs(2));
  const auto problem = [&](const PredictionRequest& request) {
    return std::string(task->Predict(forward, request, {}).status().message());
  };
  EXPECT_THAT(problem({.text = "3 20"}),
              HasSubstr("tokens are numbers in [0, 19]; got '20'"));
  EXPECT_THAT(problem({.text = " "}), HasSubstr("at least one token"));
  EXPECT_THAT(problem({.example = 5}), HasSubstr("must be less than 5"));
}

TEST(TokenClassificationTaskTest, SequencesHaveToFit) {
  const auto task = Make(kRecall, {"model.token_classifier.transformer."
                                   "position_embedding={kind: LEARNED "
                                   "longest: 11}"});
  ConfigProblems problems;
  task->ValidateData(problems);
  ASSERT_THAT(problems.problems(), SizeIs(1));
  EXPECT_EQ(problems.problems()[0].path, "model.token_classifier.transformer");
  EXPECT_THAT(problems.problems()[0].message,
              HasSubstr("reads at most 11 positions, but a sequence of the "
                        "data has 12"));
}

}  // namespace
}  // namespace regard
