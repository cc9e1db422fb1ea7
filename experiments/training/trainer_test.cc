// Tests how the trainer uses a model: the order of epochs, and which weights it
// evaluates and chooses.
#include "experiments/training/trainer.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "autodiff/tape.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metric.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/training/batch_plan.h"
#include "files/file.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

// A task with one weight, initially 0, which is also the loss and the metric.
// With a learning rate of 1, the weight is -n after n optimizer steps. Records
// the epoch of each call that reads examples, or -1 if no epoch has begun.
class FallingTask : public Task, public Model<float> {
 public:
  explicit FallingTask(Better better = Better::kLower)
      : Task({{"loss", "", "the weight", better}}) {
    weight_ = store_.Root().Add("weight", {}, Constant(0));
    store_.Finalize(0);
  }

  const std::vector<int64_t>& of_lengths() const { return of_lengths_; }
  const std::vector<int64_t>& of_updates() const { return of_updates_; }
  const std::vector<int64_t>& of_evaluations() const { return of_evaluations_; }
  // The weight at each evaluation on dev.
  const std::vector<float>& evaluated() const { return evaluated_; }
  float weight() { return store_.value(weight_)[0]; }

  Model<float>& model() override { return *this; }
  Showcase Show(Forward<float>&, bool) const override { return {}; }

  ParameterStore<float>& parameters() override { return store_; }
  int64_t num_examples() const override { return 4; }
  void BeginEpoch(std::optional<int64_t> epoch) override {
    epoch_ = epoch.value_or(-1);
  }
  SequenceLengths Lengths(int64_t example) const override {
    of_lengths_.push_back(epoch_);
    return {example == 3 ? last_length_ : 1, 1};
  }
  // Sets the source length of the last example. All other lengths are 1.
  void set_last_length(int64_t length) { last_length_ = length; }
  absl::Span<const LossTerm> loss_terms() const override { return terms_; }
  void Denominators(absl::Span<const int64_t>,
                    absl::Span<double> denominators) const override {
    of_updates_.push_back(epoch_);
    denominators[0] = 1;
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t>,
            absl::Span<const double>,
            absl::Span<Var<float>> sums) const override {
    sums[0] = forward.Site("value", forward[weight_]);
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override {
    if (split == Split::kTrain) of_evaluations_.push_back(epoch_);
    if (split != Split::kDev) return {};
    forward.BeginStep();
    evaluated_.push_back(forward.Site("value", forward[weight_]).item());
    return {{.totals = {{"loss", static_cast<double>(evaluated_.back())}}}};
  }

 private:
  ParameterStore<float> store_;
  Parameter<float> weight_;
  const LossTerm terms_[1] = {{"loss", 1}};
  int64_t epoch_ = 7;
  int64_t last_length_ = 1;
  mutable std::vector<int64_t> of_lengths_;
  mutable std::vector<int64_t> of_updates_;
  mutable std::vector<int64_t> of_evaluations_;
  mutable std::vector<float> evaluated_;
};

// Returns a config of three epochs with two optimizer steps each.
Experiment Config(const std::string& training) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "num_shards: 1 optimizer { sgd {} learning_rate: 1 } "
      "training { batch_size: 2 epochs: 3 " +
          training + "}",
      &config));
  return config;
}

struct Result {
  std::map<std::string, double> metrics;
  std::string weights_digest;
};

Result Train(const Experiment& config, FallingTask& task) {
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  EXPECT_THAT(trainer.Run(), IsOk());
  return {trainer.metrics(), trainer.LastWeightsDigest()};
}

TEST(TrainerTest, UpdatesHaveAnEpochAndEvaluationsHaveNone) {
  const Experiment config = Config("group_by_length: true");
  FallingTask task;
  EXPECT_EQ(BatchPlan(config, task).total_updates(), 6);
  // The lengths must be read before any epoch.
  EXPECT_THAT(task.of_lengths(), ElementsAre(-1, -1, -1, -1, -1));
  Train(config, task);
  EXPECT_THAT(task.of_updates(), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THAT(task.of_evaluations(), ElementsAre(-1));
  // A second plan must read the lengths without an epoch, too.
  EXPECT_EQ(BatchPlan(config, task).total_updates(), 6);
  EXPECT_EQ(task.of_lengths().back(), -1);
}

TEST(TrainerTest, InterventionsApplyInTrainingAndEvaluations) {
  Experiment config = Config("log_every: 3");
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "intervene { site: '*' from_step: 2 to_step: 4 replace { zeros {} } }"
      "probe { site: '*' statistic: MAX every: 2 }",
      &config));
  FallingTask task;
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  std::vector<std::pair<int64_t, double>> reported;
  EXPECT_THAT(trainer.Run({.recorded =
                               [&](const MetricsRecord& record) {
                                 const auto value =
                                     record.metrics.find("probe/value/max");
                                 if (value != record.metrics.end()) {
                                   reported.emplace_back(record.step,
                                                         value->second);
                                 }
                                 return absl::OkStatus();
                               }}),
              IsOk());
  EXPECT_EQ(task.weight(), -4);
  EXPECT_THAT(task.evaluated(), ElementsAre(0, -2, -4));
  EXPECT_THAT(reported, ElementsAre(Pair(2, -1), Pair(4, 0), Pair(6, -3)));
}

// The intervention must also apply to the averaged weights that are compared
// with the best weights.
TEST(TrainerTest, AnInterventionAppliesToTheChoiceOfWeights) {
  Experiment config = Config("average: 2 early_stopping {}");
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "intervene { site: '*' replace { scale: 0.5 } }", &config));
  FallingTask task;
  Train(config, task);
  // The intervention halves the weights -1, -2 and -3, then the mean of the
  // last two, and at the end the chosen weight.
  EXPECT_THAT(task.evaluated(), ElementsAre(-.5F, -1, -1.5F, -1.25F, -1.5F));
}

// Returns "STEP of epoch EPOCH: NAME VALUE, .." for each record.
std::vector<std::string> RecordsOf(const Experiment& config,
                                   FallingTask& task) {
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  std::vector<std::string> records;
  EXPECT_THAT(
      trainer.Run({.recorded =
                       [&](const MetricsRecord& record) {
                         std::string& text = records.emplace_back(absl::StrCat(
                             record.step, " of epoch ", record.epoch, ":"));
                         for (const auto& [name, value] : record.metrics) {
                           absl::StrAppend(&text, " ", name, " ", value);
                         }
                         return absl::OkStatus();
                       }}),
      IsOk());
  return records;
}

// The losses are 0, -1, -2, ..., each the mean over two examples.
TEST(TrainerTest, RecordsCoverTheUpdatesSinceThePreviousRecord) {
  FallingTask task;
  const std::string update = " train/gradient_norm 1 train/learning_rate 1";
  EXPECT_THAT(RecordsOf(Config("log_every: 3"), task),
              ElementsAre("2 of epoch 1: dev/loss -2",
                          "3 of epoch 2:" + update +
                              " train/loss -0.5 train/padding_share 0",
                          "4 of epoch 2: dev/loss -4",
                          "6 of epoch 3: dev/loss -6" + update +
                              " train/loss -2 train/padding_share 0"));
}

// Trains with one optimizer step, and with none.
TEST(TrainerTest, TheLastRecordCoversTheTrainedUpdates) {
  FallingTask task;
  Experiment config = Config("max_updates: 1");
  config.mutable_training()->set_batch_size(1);
  EXPECT_THAT(RecordsOf(config, task),
              ElementsAre("1 of epoch 1: dev/loss -1 train/gradient_norm 1 "
                          "train/learning_rate 1 train/loss 0 "
                          "train/padding_share 0"));
  config.mutable_training()->set_epochs(0);
  config.mutable_training()->clear_max_updates();
  FallingTask untrained;
  EXPECT_THAT(RecordsOf(config, untrained),
              ElementsAre("0 of epoch 0: dev/loss 0"));
}

TEST(TrainerTest, EachShardIsPaddedToItsOwnLongest) {
  FallingTask task;
  task.set_last_length(5);
  Experiment config = Config("evaluate_every: 0 log_every: 1");
  config.set_num_shards(2);
  config.mutable_training()->set_batch_size(4);
  config.mutable_training()->set_epochs(2);
  // 4 of the 10 + 2 source positions and 4 target positions are padding.
  EXPECT_THAT(RecordsOf(config, task),
              ElementsAre(EndsWith(" train/padding_share 0.25"),
                          EndsWith(" train/padding_share 0.25")));
}

TEST(TrainerTest, ARecordHasItsTimeByDefault) {
  const Experiment config = Config("");
  for (const bool omitted : {false, true}) {
    FallingTask task;
    Trainer trainer(config, task, BuiltInPlugins(),
                    {.threads = 1, .omit_times = omitted});
    EXPECT_THAT(trainer.Run({.recorded =
                                 [&](const MetricsRecord& record) {
                                   EXPECT_EQ(record.seconds.has_value(),
                                             !omitted);
                                   return absl::OkStatus();
                                 }}),
                IsOk());
  }
}

TEST(TrainerTest, ReportsEachUpdate) {
  FallingTask task;
  Experiment config = Config("max_updates: 2");
  config.mutable_training()->set_batch_size(1);
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  std::vector<StepMeasurements> updates;
  EXPECT_THAT(trainer.Run({.updated =
                               [&](const StepMeasurements& update) {
                                 updates.push_back(update);
                               }}),
              IsOk());
  ASSERT_THAT(updates, SizeIs(2));
  EXPECT_EQ(updates[1].step, 2);
  EXPECT_EQ(updates[1].loss, -1);
  EXPECT_EQ(updates[1].work, 1);
  EXPECT_EQ(std::string(updates[1].work_unit), "examples");
  EXPECT_EQ(updates[1].learning_rate, 1);
  EXPECT_EQ(updates[1].gradient_norm, 1);
}

TEST(TrainerTest, TheLastWeightsAreEvaluatedAndUsed) {
  FallingTask task;
  Train(Config(""), task);
  EXPECT_THAT(task.evaluated(), ElementsAre(-2, -4, -6));
  EXPECT_EQ(task.weight(), -6);
}

// The averages must be -1, (-1 - 2) / 2, (-1.5 - 3) / 2, ...
TEST(TrainerTest, TheirMovingAverageIsEvaluatedAndUsed) {
  FallingTask plain;
  FallingTask task;
  const Result result = Train(Config("ema_decay: 0.5"), task);
  EXPECT_THAT(task.evaluated(), ElementsAre(-1.5F, -3.125F, -5.03125F));
  EXPECT_EQ(task.weight(), -5.03125F);
  EXPECT_EQ(result.metrics.at("dev/loss"), -5.03125);
  // The moving average must not change the training.
  EXPECT_EQ(result.weights_digest, Train(Config(""), plain).weights_digest);
}

TEST(TrainerTest, TheBestMovingAverageIsUsed) {
  FallingTask task(Better::kHigher);
  Train(Config("ema_decay: 0.5 early_stopping {}"), task);
  EXPECT_THAT(task.evaluated(), ElementsAre(-1.5F, -3.125F, -5.03125F, -1.5F));
  EXPECT_EQ(task.weight(), -1.5F);
}

TEST(TrainerTest, TheMeanOfTheLastEvaluationsIsUsed) {
  FallingTask task;
  Train(Config("average: 2"), task);
  EXPECT_THAT(task.evaluated(), ElementsAre(-2, -4, -6, -5));
  EXPECT_EQ(task.weight(), -5);
}

// If the last step were evaluated twice, its weights would count twice in the
// average.
TEST(TrainerTest, AnEvaluationAtTheLimitOfTimeIsNotRepeated) {
  FallingTask task;
  const Experiment config =
      Config("max_minutes: 0.005 average: 2 early_stopping {}");
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  std::vector<int64_t> steps;
  TrainingCallbacks callbacks;
  callbacks.evaluated = [&](const EvaluatedModel& evaluated) {
    if (!evaluated.final) steps.push_back(evaluated.step);
    absl::SleepFor(absl::Minutes(0.006));
    return absl::OkStatus();
  };
  EXPECT_THAT(trainer.Run(callbacks), IsOk());
  EXPECT_EQ(steps, std::vector<int64_t>{trainer.step()});
  EXPECT_LT(trainer.step(), trainer.total_steps());
}

TEST(TrainerTest, TheStateOfARunWithoutUpdatesHasEveryField) {
  Experiment config = Config("checkpoint_every: 1");
  config.mutable_training()->set_epochs(0);
  FallingTask task;
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  std::string state;
  EXPECT_THAT(trainer.Run({.checkpointed =
                               [&](const CheckpointContent& content) {
                                 state = content.state;
                                 return absl::OkStatus();
                               }}),
              IsOk());
  EXPECT_THAT(state, StartsWith("step: 0\nterm_sums: 0\n"));
  for (const char* field :
       {"positions: 0", "padding: 0", "finished: true", "term_counts: 0",
        "learning_rate: 0", "gradient_norm: 0"}) {
    EXPECT_THAT(state, HasSubstr(absl::StrCat("\n", field, "\n")));
  }
}

// The final evaluation may take a long time. If the process is killed during
// the evaluation, no other work may be lost.
// The checkpoint stores the number of records, so that no record is written
// twice.
TEST(TrainerTest, ACheckpointComesBeforeTheFinalEvaluation) {
  FallingTask task(Better::kHigher);
  const Experiment config =
      Config("early_stopping { patience: 1 } checkpoint_every: 1");
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  size_t records = 0;
  std::vector<std::string> states;
  TrainingCallbacks callbacks;
  callbacks.recorded = [&](const MetricsRecord& record) {
    if (record.step == 4) ++records;
    return absl::OkStatus();
  };
  callbacks.checkpointed = [&](const CheckpointContent& content) {
    if (content.step != 4) return absl::OkStatus();
    states.push_back(content.state);
    EXPECT_EQ(records, states.size() + 1);
    return absl::OkStatus();
  };
  EXPECT_THAT(trainer.Run(callbacks), IsOk());
  ASSERT_THAT(states, SizeIs(2));
  EXPECT_THAT(states[0], HasSubstr("\nrecords: 2\nevaluated_step: 4\n"));
  EXPECT_THAT(states[0], Not(HasSubstr("finished: true")));
  EXPECT_THAT(states[1], HasSubstr("finished: true"));
  EXPECT_THAT(states[1], Not(HasSubstr("records:")));
}

CheckpointInfo OnlyCheckpoint(const std::string& folder) {
  absl::StatusOr<FoundCheckpoints> found = FindCheckpoints(folder, 1);
  EXPECT_THAT(found, IsOk());
  EXPECT_THAT(found->checkpoints, SizeIs(1));
  return found->checkpoints.at(0);
}

// Early stopping ends the run after four steps, and log_every is 3, so the last
// step has no record when the run is killed.
TEST(TrainerTest, ARunThatWasKilledAtItsEndRecordsItsLastUpdate) {
  const Experiment config =
      Config("early_stopping { patience: 1 } log_every: 3");
  const std::string folder = ::testing::TempDir() + "/killed_at_its_end";
  std::filesystem::create_directories(folder);
  std::map<std::string, double> last_record;
  TrainingCallbacks record;
  record.recorded = [&](const MetricsRecord& measured) {
    last_record = measured.metrics;
    return absl::OkStatus();
  };
  TrainingCallbacks killed;
  killed.evaluated = [](const EvaluatedModel& evaluated) {
    return evaluated.final ? absl::AbortedError("killed") : absl::OkStatus();
  };
  killed.checkpointed = [&](const CheckpointContent& content) {
    return SaveCheckpoint(folder, content, /*keep=*/1, SystemFiles());
  };
  for (const TrainingCallbacks* callbacks : {&record, &killed}) {
    FallingTask task(Better::kHigher);
    Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
    EXPECT_EQ(trainer.Run(*callbacks).ok(), callbacks == &record);
    EXPECT_EQ(trainer.step(), 4);
  }
  const std::map<std::string, double> whole = last_record;
  EXPECT_EQ(whole.at("train/gradient_norm"), 1);
  FallingTask task(Better::kHigher);
  Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
  ASSERT_THAT(trainer.Restore(OnlyCheckpoint(folder)), IsOk());
  // The resumed run must make no further step.
  EXPECT_EQ(trainer.step(), 4);
  EXPECT_EQ(trainer.restored_records(), 1);
  last_record.clear();
  ASSERT_THAT(trainer.Run(record), IsOk());
  EXPECT_EQ(last_record, whole);
}

// The metric gets worse at each evaluation, so the schedule halves the learning
// rate two evaluations after the first. The run is killed between these two
// evaluations.
TEST(TrainerTest, APlateauIncludesEvaluationsBeforeAKill) {
  Experiment config = Config("checkpoint_every: 2");
  config.mutable_training()->set_epochs(4);
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      "optimizer { schedule { reduce_on_plateau {"
      "  metric: 'dev/loss' higher_is_better: true patience: 1 } } }",
      &config));
  FallingTask whole(Better::kHigher);
  Train(config, whole);
  EXPECT_THAT(whole.evaluated(), ElementsAre(-2, -4, -6, -7));

  const std::string folder = ::testing::TempDir() + "/plateau";
  std::filesystem::create_directories(folder);
  TrainingCallbacks killed;
  killed.checkpointed = [&](const CheckpointContent& content) {
    const absl::Status saved =
        SaveCheckpoint(folder, content, /*keep=*/1, SystemFiles());
    return content.step == 4 ? absl::AbortedError("killed") : saved;
  };
  FallingTask begun(Better::kHigher);
  Trainer first(config, begun, BuiltInPlugins(), {.threads = 1});
  ASSERT_FALSE(first.Run(killed).ok());
  EXPECT_THAT(begun.evaluated(), ElementsAre(-2, -4));
  FallingTask resumed(Better::kHigher);
  Trainer second(config, resumed, BuiltInPlugins(), {.threads = 1});
  ASSERT_THAT(second.Restore(OnlyCheckpoint(folder)), IsOk());
  ASSERT_THAT(second.Run({}), IsOk());
  EXPECT_THAT(resumed.evaluated(), ElementsAre(-6, -7));
}

// A user may edit the state and its digest in the manifest. An invalid state
// must be an error.
TEST(TrainerTest, TheStateOfACheckpointIsOfItsStep) {
  const Experiment config = Config("");
  const std::string folder = ::testing::TempDir() + "/state_of_its_step";
  std::filesystem::create_directories(folder);
  FallingTask task(Better::kHigher);
  for (const auto& wrong :
       {std::pair("step: -",
                  ": does not hold the state of this experiment: its step or "
                  "its loss terms differ"),
        std::pair("stop: ", ":1:5: error: ")}) {
    TrainingCallbacks callbacks;
    callbacks.checkpointed = [&](CheckpointContent content) {
      content.state =
          absl::StrReplaceAll(content.state, {{"step: ", wrong.first}});
      return SaveCheckpoint(folder, content, /*keep=*/1, SystemFiles());
    };
    Trainer trainer(config, task, BuiltInPlugins(), {.threads = 1});
    ASSERT_THAT(trainer.Run(callbacks), IsOk());
    EXPECT_THAT(trainer.Restore(OnlyCheckpoint(folder)).message(),
                HasSubstr(absl::StrCat("state.textproto", wrong.second)));
  }
}

}  // namespace
}  // namespace regard
