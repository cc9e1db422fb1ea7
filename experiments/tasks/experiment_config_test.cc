#include "experiments/tasks/experiment_config.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "data/phrasebook/phrasebook.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/task.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "options/config_text.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::regard::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Returns the data problems of an experiment, as `path: text`.
std::vector<std::string> DataProblems(const PhrasebookConfig& phrasebook) {
  Experiment config;
  *config.mutable_data()->mutable_phrasebook() = phrasebook;
  ConfigProblems problems;
  ValidateExperiment(config, BuiltInPlugins(), problems);
  std::vector<std::string> found;
  for (const auto& problem : problems.problems()) {
    if (problem.path.rfind("data", 0) == 0) {
      found.push_back(absl::StrCat(problem.path, ": ", problem.message));
    }
  }
  return found;
}

TEST(ExperimentConfigTest, APhrasebookNeedsWordsForItsOtherSplits) {
  for (int train = 0; train <= 60; ++train) {
    PhrasebookConfig sizes;
    sizes.set_train(train);
    if (train < 50) {
      EXPECT_THAT(DataProblems(sizes),
                  ElementsAre(AllOf(
                      StartsWith("data.phrasebook.train: must be in [50, "),
                      EndsWith(absl::StrCat(", got ", train)))));
    } else {
      EXPECT_THAT(DataProblems(sizes), IsEmpty()) << train;
    }
  }
}

TEST(ExperimentConfigTest,
     TheOtherSplitsOfAPhrasebookAreAtMostTenTimesAsLarge) {
  PhrasebookConfig sizes;
  sizes.set_train(80);
  sizes.set_dev(800);
  sizes.set_test(800);
  sizes.set_test_unseen_pairs(800);
  EXPECT_THAT(DataProblems(sizes), IsEmpty());
  sizes.set_dev(801);
  sizes.set_test(801);
  sizes.set_test_unseen_pairs(-1);
  EXPECT_THAT(
      DataProblems(sizes),
      ElementsAre(
          "data.phrasebook.dev: must be in [0, 800], got 801",
          "data.phrasebook.test: must be in [0, 800], got 801",
          "data.phrasebook.test_unseen_pairs: must be in [0, 800], got -1"));
}

TEST(ExperimentConfigTest, TheSizesOfAPhrasebookHaveTheSameDefaultsEverywhere) {
  const PhrasebookConfig config;
  const PhrasebookOptions options;
  EXPECT_EQ(config.train(), options.train);
  EXPECT_EQ(config.dev(), options.dev);
  EXPECT_EQ(config.test(), options.test_unseen);
  EXPECT_EQ(config.test_unseen_pairs(), options.test_unseen_pairs);
}

// Returns the problems of a config, as `path: text`, and its notes.
std::vector<std::string> ProblemsOf(const std::string& text) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  ConfigProblems problems;
  ValidateExperiment(config, BuiltInPlugins(), problems);
  std::vector<std::string> found;
  for (const auto& problem : problems.problems()) {
    found.push_back(absl::StrCat(problem.path, ": ", problem.message));
  }
  for (const std::string& note : problems.notes()) {
    found.push_back(absl::StrCat("note: ", note));
  }
  return found;
}

TEST(ExperimentConfigTest, AMovingAverageIsTheOnlyMean) {
  const auto problems = [](const char* training) {
    return ProblemsOf(
        absl::StrCat("data { reverse {} } model { transformer {} } training {",
                     training, "}"));
  };
  EXPECT_THAT(problems("ema_decay: 0.999"), IsEmpty());
  EXPECT_THAT(problems("ema_decay: 0.9 early_stopping {}"), IsEmpty());
  EXPECT_THAT(problems("ema_decay: 1"),
              ElementsAre(StartsWith("training.ema_decay: must be in [0, ")));
  EXPECT_THAT(problems("ema_decay: -0.1"),
              ElementsAre(StartsWith("training.ema_decay: must be in [0, ")));
  EXPECT_THAT(
      problems("ema_decay: 0.9 average: 2"),
      ElementsAre("training.ema_decay: cannot be set together with `average`: "
                  "both average the weights; remove one of them"));
}

TEST(ExperimentConfigTest, InitialWeightsAreOfARun) {
  const auto problems = [](const char* weights) {
    return ProblemsOf(
        absl::StrCat("data { reverse {} } model { transformer {} } ",
                     "training { initial_weights {", weights, "} }"));
  };
  EXPECT_THAT(problems("run: \"r\" random: true"), IsEmpty());
  EXPECT_THAT(problems("run: \"r\" average: 3 metric: \"dev/bleu\""),
              IsEmpty());
  EXPECT_THAT(
      problems(""),
      ElementsAre("training.initial_weights.run: must name a run folder "
                  "or a Hugging Face model folder"));
  EXPECT_THAT(
      problems("run: \"r\" average: -1"),
      ElementsAre(StartsWith("training.initial_weights.average: must be in")));
  EXPECT_THAT(problems("run: \"r\" random: true average: 1"),
              ElementsAre(StartsWith("training.initial_weights.random: ")));
  EXPECT_THAT(
      problems("run: \"r\" metric: \"dev/bleu\""),
      ElementsAre("note: training.initial_weights.metric: has no effect unless "
                  "`average` is set: it chooses the checkpoints to average"));
  EXPECT_THAT(problems("run: \"r\" average: 3 metric: \"dev/blue\""),
              ElementsAre(StartsWith("training.initial_weights.metric: "
                                     "dev/blue is not a metric on dev")));
}

TEST(ExperimentConfigTest, TheBaselineOfAnExtendedConfigCanBeLeftOut) {
  const auto load = [](const std::vector<std::string>& overrides) {
    return LoadConfig(
        {"c.textproto",
         "data { reverse {} } model { encoder {} attention { dot {} } "
         "decoder {} } baseline { name: \"other\" override { path: \"seed\" "
         "value: \"2\" } }"},
        overrides, BuiltInPlugins());
  };
  const auto with = load({});
  ASSERT_THAT(with, IsOk());
  EXPECT_EQ(with->config.baseline().override_size(), 1);
  const auto without = load({"baseline.override=[]"});
  ASSERT_THAT(without, IsOk());
  EXPECT_EQ(without->config.baseline().override_size(), 0);
}

TEST(ExperimentConfigTest, ScheduledSamplingIsOfRecurrentDecoders) {
  const auto load = [](const char* model) {
    return LoadConfig({"c.textproto", absl::StrCat("data { reverse {} }\n",
                                                   "model {", model, "}")},
                      {}, BuiltInPlugins());
  };
  EXPECT_THAT(load("encoder {} attention { dot {} } "
                   "decoder { scheduled_sampling {} }"),
              IsOk());
  EXPECT_THAT(load("transformer { scheduled_sampling {} }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("c.textproto:2:22: error: ")));
  EXPECT_THAT(load("transformer {} decoder { scheduled_sampling {} }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("c.textproto:2:23: error: ")));
  EXPECT_THAT(load("encoder {} attention { dot {} } "
                   "decoder { scheduled_sampling { probability: 2 } }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("c.textproto:2:")));
}

TEST(ExperimentConfigTest, ATaskThatDoesNotFitTheDataSaysWhatDoes) {
  EXPECT_THAT(
      ProblemsOf("data { reverse {} } model { nadaraya_watson {} "
                 "           attention { gaussian {} } }"),
      ElementsAre("model.nadaraya_watson: learns from points of a curve, but "
                  "data.reverse provides sentence pairs. Data for this model: "
                  "nadaraya_watson, table. Models for this data: decoder, "
                  "transformer"));
}

TEST(ExperimentConfigTest, APartThatTheModelDoesNotReadIsRefusedOrNoted) {
  EXPECT_THAT(
      ProblemsOf("data { nadaraya_watson {} } model { encoder {} "
                 "nadaraya_watson {} attention { gaussian {} } } search {}"),
      ElementsAre(
          "model.encoder: does not apply to `nadaraya_watson`; remove it",
          "note: search: has no effect: `nadaraya_watson` does not search"));
}

TEST(ExperimentConfigTest, PartsOfATranslationModelMustFit) {
  const auto problems = [](const std::string& model) {
    return ProblemsOf(absl::StrCat("data { reverse {} } model {", model, "}"));
  };
  EXPECT_THAT(problems("transformer {}"), IsEmpty());
  EXPECT_THAT(problems("transformer {} encoder {}"), IsEmpty());
  EXPECT_THAT(problems("transformer_encoder {} attention { dot {} } "
                       "decoder { initial_state: PROJECTED hidden: 512 }"),
              IsEmpty());
  EXPECT_THAT(problems("transformer {} attention { dot {} }"),
              ElementsAre(StartsWith(
                  "model.attention: applies only to a recurrent decoder")));
  EXPECT_THAT(problems("decoder { context: NO_CONTEXT }"),
              ElementsAre("model: a decoder requires an encoder: set "
                          "encoder {} or transformer_encoder {}"));
  EXPECT_THAT(
      problems("transformer { attention { attention { coverage {} } } }"),
      ElementsAre(StartsWith("model.transformer.attention.attention")));
  EXPECT_THAT(problems("transformer { width: 30 attention { heads: 4 } }"),
              ElementsAre(StartsWith("model.transformer.attention.heads")));
}

// The resolved config, which contains every default, must not be too large to
// read again.
TEST(ExperimentConfigTest, AConfigMustBeReadableInFull) {
  const auto load = [](int samples) {
    std::string text = "data { path: \"x\" pairs {";
    for (int i = 0; i < samples; ++i) {
      absl::StrAppend(&text, " samples { source: \"a\" }");
    }
    absl::StrAppend(&text, " } } model { encoder {} decoder { ",
                    "context: NO_CONTEXT } }");
    EXPECT_LT(text.size(), kMaxConfigBytes);
    return LoadConfig({"a.textproto", text}, {}, BuiltInPlugins());
  };
  EXPECT_THAT(load(100), IsOk());
  EXPECT_THAT(load(30000),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       StartsWith("a.textproto:1:1: error: with every default "
                                  "written out, the config has ")));
}

// An empty path, which can come from an unset shell variable, must be an error.
TEST(ExperimentConfigTest, AnEmptyPathIsNotADefault) {
  const struct {
    const char* data;
    const char* model;
    const char* problem;
  } kCases[] = {
      {"fashion_mnist {} path: ''", "vision_transformer {}",
       "data.path: must name a file or be left out"},
      {"text {} path: 'x' dev_path: ''", "language_model { block: 512 }",
       "data.dev_path: must name a file or be left out"},
      {"grammar {}", "bert { masked_words { vocabulary: '' } }",
       "model.bert.masked_words.vocabulary: must name a file"},
      {"grammaticality {}", "text_classifier { pretrained: '' }",
       "model.text_classifier.pretrained: must name a run"},
      {"pairs { train { path: '' } }",
       "encoder {} attention { dot {} } decoder {}", "data.pairs.train: req"},
      {"pairs { train { source: 's' target: '' } }",
       "encoder {} attention { dot {} } decoder {}", "data.pairs.train: req"},
      {"pairs { train { path: 'x' } subwords { source_model: '' } }",
       "encoder {} attention { dot {} } decoder {}",
       "data.pairs.subwords.source_model: must name a file"},
  };
  for (const auto& [data, model, problem] : kCases) {
    EXPECT_THAT(
        ProblemsOf(absl::StrCat("data {", data, "} model {", model, "}")),
        ElementsAre(StartsWith(problem)));
  }
}

TEST(ExperimentConfigTest, AFlipMakesSentencesOfPlacesWrong) {
  const auto problems = [](const char* augmentation) {
    return ProblemsOf(absl::StrCat(
        "data { captions {} } model { captioner { vision_transformer { "
        "augmentation {",
        augmentation, "} } } }"));
  };
  EXPECT_THAT(problems("shift: 1"), IsEmpty());
  EXPECT_THAT(problems("flip: true"),
              ElementsAre(StartsWith(
                  "model.captioner.vision_transformer.augmentation.flip: ")));
}

TEST(ExperimentConfigTest, SubwordsAreNotLeftOutByFrequency) {
  const auto problems = [](const char* data) {
    return ProblemsOf(absl::StrCat(
        "data { pairs { train { path: 'x' } ", data,
        " } } model { encoder {} attention { dot {} } decoder {} }"));
  };
  EXPECT_THAT(problems("min_frequency: 2"), IsEmpty());
  EXPECT_THAT(problems("min_frequency: 1 subwords {}"), IsEmpty());
  EXPECT_THAT(problems("min_frequency: 2 subwords {}"),
              ElementsAre(StartsWith(
                  "note: data.pairs.min_frequency: applies only to ")));
}

TEST(ExperimentConfigTest, DataAndModelMustBeChosen) {
  EXPECT_THAT(
      ProblemsOf(""),
      ElementsAre("data: has no data source; set one, such as phrasebook {}",
                  "model: has no model; set one, such as decoder {}, "
                  "transformer {} or nadaraya_watson {}"));
}

TEST(ExperimentConfigTest, LengthsWithoutGroupsAreNoted) {
  const std::string start =
      "data { reverse {} } model { encoder {} decoder { context: NO_CONTEXT } "
      "} training { length_step: ";
  EXPECT_THAT(ProblemsOf(start + "2 group_by_length: true }"), IsEmpty());
  EXPECT_THAT(ProblemsOf(start + "1 }"), IsEmpty());
  EXPECT_THAT(ProblemsOf(start + "2 }"),
              ElementsAre("note: training.length_step: has no effect without "
                          "`group_by_length: true`"));
  EXPECT_THAT(ProblemsOf(start + "1 batch_tokens: 9 }"),
              ElementsAre("note: training.batch_tokens: has no effect without "
                          "`group_by_length: true`; batches have `batch_size` "
                          "examples"));
}

TEST(ExperimentConfigTest, AScheduleWatchesAMetricOfDev) {
  const std::string start =
      "data { nadaraya_watson {} } model { nadaraya_watson {} attention { "
      "gaussian {} } } optimizer { schedule { reduce_on_plateau { ";
  EXPECT_THAT(ProblemsOf(start + "metric: \"dev/mse\" } } }"), IsEmpty());
  EXPECT_THAT(ProblemsOf(start + "metric: \"dev/mse\" } } } training { "
                                 "evaluate_every: 0 }"),
              ElementsAre("note: optimizer.schedule: has no effect without "
                          "evaluations: `training.evaluate_every` is 0"));
  EXPECT_THAT(
      ProblemsOf("data { reverse {} } model { transformer {} } training { "
                 "evaluate_every: 0 average: 3 early_stopping {} }"),
      ElementsAre("note: training.average: has no effect without evaluations: "
                  "`evaluate_every` is 0",
                  "note: training.early_stopping: has no effect without "
                  "evaluations: `training.evaluate_every` is 0"));
  EXPECT_THAT(ProblemsOf(start + "metric: \"dev/bleu\" } } }"),
              ElementsAre("optimizer.schedule: monitors dev/bleu, which is not "
                          "a metric on dev; did you mean 'dev/mse'?"));
  EXPECT_THAT(
      ProblemsOf(start + "metric: \"dev/mse\" higher_is_better: true } } }"),
      ElementsAre("optimizer.schedule.reduce_on_plateau.higher_is_better: must "
                  "be false: lower values of dev/mse are better"));
}

// "dev/loss" selects the training loss, even if the task renames it.
TEST(ExperimentConfigTest, TheLossMayHaveAnotherName) {
  const auto loaded = LoadConfig(
      {"c.textproto",
       "data { nadaraya_watson {} } model { nadaraya_watson {} attention { "
       "gaussian {} } } training { early_stopping {} } optimizer { schedule { "
       "reduce_on_plateau { metric: 'dev/loss' } } }"},
      {}, BuiltInPlugins());
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->config.training().early_stopping().metric(), "dev/mse");
  EXPECT_EQ(loaded->config.optimizer().schedule().reduce_on_plateau().metric(),
            "dev/mse");
  EXPECT_THAT(
      loaded->notes,
      ElementsAre("training.early_stopping.metric: was changed to dev/mse, "
                  "because this task does not measure dev/loss",
                  "optimizer.schedule.reduce_on_plateau.metric: was changed to "
                  "dev/mse, because this task does not measure dev/loss"));
}

TEST(ExperimentConfigTest, AnAlignmentOfARecurrentDecoderIsNoted) {
  EXPECT_THAT(ProblemsOf("data { reverse {} } model { encoder {} decoder {} "
                         "attention { dot {} } alignment { layer: 0 } }"),
              ElementsAre("note: model.alignment: has no effect: a recurrent "
                          "decoder has only one attention"));
}

// A model whose loss couples its examples, like a contrastive loss.
class CoupledModel : public Model<float> {
 public:
  ParameterStore<float>& parameters() override { return parameters_; }
  int64_t num_examples() const override { return 4; }
  absl::Span<const LossTerm> loss_terms() const override { return {}; }
  void Denominators(absl::Span<const int64_t>,
                    absl::Span<double>) const override {}
  void Loss(Forward<float>&, absl::Span<const int64_t>,
            absl::Span<const double>, absl::Span<Var<float>>) const override {}
  bool couples_examples() const override { return true; }
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 private:
  ParameterStore<float> parameters_;
};

class CoupledTask : public Task {
 public:
  CoupledTask() : Task({}) {}
  Model<float>& model() override { return model_; }
  Showcase Show(Forward<float>&, bool) const override { return {}; }

 private:
  CoupledModel model_;
};

TEST(ValidateTaskTest, ALossThatCouplesExamplesNeedsOneShard) {
  CoupledTask task;
  Experiment config;
  config.set_num_shards(1);
  ConfigProblems none;
  ValidateTask(task, config, none);
  EXPECT_TRUE(none.ok());
  config.set_num_shards(2);
  ConfigProblems problems;
  ValidateTask(task, config, problems);
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].path, "num_shards");
  EXPECT_EQ(problems.problems()[0].message,
            "must be 1 for a loss that couples the examples of a batch, got 2");
}

TEST(ValidateTaskTest, AModelTooLargeForMemoryIsAProblem) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "data { reverse { train: 50 dev: 5 test: 5 } } model { transformer { "
      "width: 65536 layers: 256 } }",
      &config));
  const auto task = BuildTask(config, BuiltInPlugins());
  ASSERT_THAT(task, IsOk());
  ConfigProblems problems;
  ValidateTask(**task, config, problems);
  ASSERT_EQ(problems.problems().size(), 1u);
  EXPECT_EQ(problems.problems()[0].path, "model");
  EXPECT_THAT(problems.problems()[0].message, HasSubstr(" parameters take "));
}

TEST(ValidateTaskTest, GroupsByLengthWithoutLengthsAreNoted) {
  CoupledTask task;
  Experiment config;
  config.set_num_shards(1);
  config.mutable_training()->set_group_by_length(true);
  ConfigProblems problems;
  ValidateTask(task, config, problems);
  EXPECT_TRUE(problems.ok());
  EXPECT_THAT(problems.notes(),
              ElementsAre("training.group_by_length: has no effect: all "
                          "examples have the same length"));
}

TEST(ValidateWatchedMetricsTest, EveryTaskReportsWhetherItHasADevSplit) {
  constexpr char kTransformer[] =
      "transformer { width: 8 layers: 1 attention { heads: 1 } } ";
  const struct {
    std::string data;  // includes dev: $0
    std::string model;
  } kCases[] = {
      {"reverse { train: 20 dev: $0 test: 2 }",
       "encoder {} attention { dot {} } decoder {}"},
      {"grammar { train: 60 dev: $0 test: 2 }",
       absl::StrCat("language_model { ", kTransformer, "}")},
      {"grammar { train: 60 dev: $0 test: 2 }",
       absl::StrCat("bert { ", kTransformer, "masked_words { block: 16 } }")},
      {"grammaticality { train: 20 dev: $0 test: 2 }",
       absl::StrCat("text_classifier { bert { ", kTransformer,
                    "masked_words { block: 16 } } }")},
      {"shapes { train: 20 dev: $0 test: 2 }",
       absl::StrCat("vision_transformer { patch: 4 ", kTransformer, "}")},
      {"captions { train: 20 dev: $0 test: 2 }",
       "captioner { vision_transformer { patch: 4 } }"}};
  const Plugins plugins = BuiltInPlugins();
  for (const auto& [data, model] : kCases) {
    for (const char* dev : {"0", "2"}) {
      SCOPED_TRACE(absl::StrCat(data, ", ", model, ", ", dev));
      Experiment config;
      ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
          absl::StrCat("data { ", absl::Substitute(data, dev), " } model { ",
                       model, " } training { early_stopping {} }"),
          &config));
      const auto task = BuildTask(config, plugins);
      ASSERT_THAT(task, IsOk());
      ConfigProblems problems;
      ValidateWatchedMetrics(**task, config, plugins, problems);
      EXPECT_TRUE(problems.ok());
      EXPECT_EQ(problems.notes().empty(), *dev == '2');
    }
  }
}

}  // namespace
}  // namespace regard
