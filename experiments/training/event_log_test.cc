#include "experiments/training/event_log.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "evaluation/metric.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "experiments/training/trainer.h"
#include "files/file.h"
#include "files/tensorboard/event.pb.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "third_party/abseil_backport/status_matchers.h"

namespace regard {
namespace {

using ::regard::testing::IsOk;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kTranslation[] = R"(
data { reverse { train: 60 dev: 5 test: 5 symbols: 9 max_length: 7 max_test_length: 7 } }
model {
  encoder { embedding: 7 hidden: 9 }
  attention { additive { width: 8 } }
  decoder { embedding: 7 hidden: 10 initial_state: PROJECTED }
}
optimizer { adam {} clip_norm: 1 }
training { epochs: 4 batch_size: 30 }
)";

constexpr char kRegression[] = R"(
data { nadaraya_watson { points: 12 } }
model { nadaraya_watson {} attention { parametric_gaussian {} } }
optimizer { sgd {} learning_rate: 0.01 }
training { epochs: 100 batch_size: 12 checkpoint_every: 100 }
)";

class EventLogTest : public ::testing::Test {
 protected:
  EventLogTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/event_log_test")) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~EventLogTest() override { std::filesystem::remove_all(folder_); }

  // Trains in folder_, from its last checkpoint if `resume`. Stops after `stop`
  // steps if `stop` is not 0. If `stop` is 0, trains to the end and ends the
  // log.
  void Train(const std::string& text, bool resume = false, int64_t stop = 0) {
    Experiment config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
    const std::unique_ptr<Task> task = *BuildTask(config, BuiltInPlugins());
    std::optional<CheckpointInfo> checkpoint;
    if (resume) checkpoint = FindCheckpoints(folder_)->checkpoints[0];
    const std::string log_path = folder_ + "/metrics.jsonl";
    absl::StatusOr<FileWriter> log =
        resume ? ResumeMetricsLog(log_path, checkpoint->step)
               : FileWriter::Create(log_path);
    std::atomic<int> signal = 0;
    const std::string last = absl::StrCat("step ", stop, "/");
    ProgressOutput output;
    output.write = [&](absl::string_view line) {
      if (absl::StartsWith(line, last)) signal = 2;
    };
    output.now = [] { return absl::UnixEpoch(); };
    output.width = [] { return 0; };
    Trainer trainer(config, *task, BuiltInPlugins(),
                    {.threads = 1, .stop_signal = &signal});
    Progress progress(trainer.total_steps(), /*plain_interval=*/1, output);
    tensorboard::EventWriterOptions options;
    options.folder = folder_ + "/tensorboard";
    if (resume) {
      ASSERT_THAT(trainer.Restore(*checkpoint), IsOk());
      options.resumed_step = checkpoint->step;
    }
    options.clock = [] { return absl::FromUnixSeconds(1'600'000'000); };
    std::vector<MetricInfo> metrics = task->metrics();
    for (const MetricInfo& metric : TrainerMetrics(task->model())) {
      metrics.push_back(metric);
    }
    auto events =
        EventLog::Open(options, trainer.total_steps(), config, *task, metrics);
    ASSERT_THAT(events, IsOk());
    TrainingCallbacks callbacks;
    callbacks.updated = [&](const auto& update) { progress.Update(update); };
    callbacks.recorded = [&](const auto& record) {
      EXPECT_THAT(log->Append(MetricsLine(record)), IsOk());
      return events->OnMetrics(record);
    };
    callbacks.evaluated = [&](const auto& evaluated) {
      return events->OnEvaluation(evaluated);
    };
    callbacks.checkpointed = [&](const auto& content) {
      return SaveCheckpoint(folder_, content,
                            config.training().keep_checkpoints(),
                            SystemFiles());
    };
    const auto stopped_by = trainer.Run(callbacks);
    ASSERT_TRUE(stopped_by.ok()) << stopped_by.status();
    if (*stopped_by == 0) {
      ASSERT_THAT(events->End(/*success=*/true, trainer.step()), IsOk());
    }
  }

  // Returns the events of the k-th file.
  std::vector<tensorboard::Event> Events(size_t k) const {
    const std::string path =
        JoinPath(folder_ + "/tensorboard",
                 ListDirectory(folder_ + "/tensorboard").value()[k]);
    const std::string bytes = ReadFile(path, 1 << 24).value();
    std::vector<tensorboard::Event> events;
    absl::string_view rest = bytes;
    while (!rest.empty()) {
      uint64_t length;
      std::memcpy(&length, rest.data(), sizeof(length));
      events.emplace_back();
      EXPECT_TRUE(events.back().ParseFromArray(rest.data() + 12,
                                               static_cast<int>(length)));
      rest.remove_prefix(length + 16);
    }
    return events;
  }

  // Returns the steps at which a tag has a value.
  std::vector<int64_t> StepsOf(absl::string_view tag, size_t file = 0) const {
    std::vector<int64_t> steps;
    for (const tensorboard::Event& event : Events(file)) {
      if (event.summary().value_size() > 0 &&
          event.summary().value(0).tag() == tag) {
        steps.push_back(event.step());
      }
    }
    return steps;
  }

  // Returns the first value of a tag.
  tensorboard::Summary::Value ValueOf(absl::string_view tag) const {
    for (const tensorboard::Event& event : Events(0)) {
      if (event.summary().value_size() > 0 &&
          event.summary().value(0).tag() == tag) {
        return event.summary().value(0);
      }
    }
    ADD_FAILURE() << "no " << tag;
    return {};
  }

  std::set<std::string> Tags() const {
    std::set<std::string> tags;
    for (const tensorboard::Event& event : Events(0)) {
      for (const auto& value : event.summary().value()) {
        tags.insert(value.tag());
      }
    }
    return tags;
  }

  const std::string folder_;
};

using Steps = std::vector<int64_t>;

TEST_F(EventLogTest, ARecordsMetricsAreScalars) {
  Train(kTranslation);
  EXPECT_EQ(StepsOf("train/loss"), Steps({2, 4, 6, 8}));
  EXPECT_EQ(StepsOf("dev/bleu"), Steps({2, 4, 6, 8}));
  EXPECT_EQ(StepsOf("test/alignment_error_rate"), Steps({8}));
  const auto records = ReadMetricsLog(folder_ + "/metrics.jsonl");
  float value;
  std::memcpy(&value, ValueOf("train/loss").tensor().tensor_content().data(),
              sizeof(value));
  EXPECT_EQ(value,
            static_cast<float>(records->front().metrics.at("train/loss")));
}

TEST_F(EventLogTest, AScalarIsDescribedAsItIsDeclared) {
  Train(kTranslation);
  EXPECT_THAT(ValueOf("dev/bleu").metadata().summary_description(),
              HasSubstr("higher is better"));
  EXPECT_NE(ValueOf("train/gradient_norm").metadata().summary_description(),
            "");
}

TEST_F(EventLogTest, AnEvaluationShowsTheModel) {
  Train(kTranslation);
  for (const char* tag :
       {"weights/encoder.rnn.0.weight_ih", "gradients/encoder.rnn.0.weight_ih",
        "samples", "attention/sample_1"}) {
    EXPECT_EQ(StepsOf(tag), Steps({2, 4, 6, 8})) << tag;
  }
  const std::string table = ValueOf("samples").tensor().string_val(0);
  EXPECT_THAT(table, StartsWith("| source | model | reference |\n"));
  const auto image = ValueOf("attention/sample_1");
  EXPECT_EQ(image.metadata().plugin_data().plugin_name(), "images");
  EXPECT_THAT(image.metadata().summary_description(), HasSubstr("columns: "));
}

TEST_F(EventLogTest, GradientsBelongToTheLastUpdate) {
  Train(kTranslation);
  const std::string content =
      ValueOf("gradients/encoder.rnn.0.weight_ih").tensor().tensor_content();
  std::vector<double> buckets(content.size() / sizeof(double));
  std::memcpy(buckets.data(), content.data(), content.size());
  double count = 0;
  for (size_t i = 2; i < buckets.size(); i += 3) count += buckets[i];
  EXPECT_EQ(count, 27 * 7);
  EXPECT_LT(buckets.front(), 0);
  EXPECT_GT(buckets[buckets.size() - 2], 0);
}

TEST_F(EventLogTest, SettingsComeFirstAndTheEndLast) {
  Train(kTranslation);
  const std::vector<tensorboard::Event> events = Events(0);
  const auto& start = events[2].summary().value(0);
  EXPECT_EQ(start.tag(), "_hparams_/session_start_info");
  tensorboard::HParamsPluginData data;
  ASSERT_TRUE(data.ParseFromString(start.metadata().plugin_data().content()));
  std::set<std::string> settings;
  for (const auto& setting : data.session_start_info().hparams()) {
    settings.insert(setting.key());
  }
  EXPECT_THAT(settings, Contains("model.attention.additive.width"));
  EXPECT_THAT(settings, Contains("model.attention.score"));
  EXPECT_THAT(settings, Contains("training.keep_checkpoints"));
  const auto& end = events.back().summary().value(0);
  EXPECT_EQ(end.tag(), "_hparams_/session_end_info");
  EXPECT_EQ(events.back().step(), 8);
  ASSERT_TRUE(data.ParseFromString(end.metadata().plugin_data().content()));
  EXPECT_EQ(data.session_end_info().status(), tensorboard::STATUS_SUCCESS);
}

TEST_F(EventLogTest, SeedsOfAConfigAreOneGroup) {
  std::set<std::string> groups;
  for (const char* more : {"", "seed: 5", "num_shards: 1"}) {
    std::filesystem::remove_all(folder_ + "/tensorboard");
    Train(absl::StrCat(kTranslation, more));
    tensorboard::HParamsPluginData data;
    ASSERT_TRUE(data.ParseFromString(ValueOf("_hparams_/session_start_info")
                                         .metadata()
                                         .plugin_data()
                                         .content()));
    groups.insert(data.session_start_info().group_name());
  }
  EXPECT_THAT(groups, SizeIs(2));
}

TEST_F(EventLogTest, AResumedRunOpensAFileWhoseStepsFollow) {
  Train(kTranslation, /*resume=*/false, /*stop=*/5);
  EXPECT_EQ(StepsOf("train/loss"), Steps({2, 4}));
  EXPECT_THAT(Tags(), Not(Contains("_hparams_/session_end_info")));
  Train(kTranslation, /*resume=*/true);
  EXPECT_EQ(Events(1)[1].session_log().status(),
            tensorboard::SessionLog::START);
  EXPECT_EQ(Events(1)[1].step(), 6);
  EXPECT_EQ(StepsOf("train/loss", 1), Steps({6, 8}));
  EXPECT_EQ(StepsOf("samples", 1), Steps({6, 8}));
  EXPECT_EQ(StepsOf("_hparams_/session_end_info", 1), Steps({8}));
}

TEST_F(EventLogTest, ARegressionShowsItsWeightsToo) {
  Train(kRegression);
  EXPECT_EQ(StepsOf("train/learning_rate").size(), 100u);
  EXPECT_EQ(ValueOf("attention/sample_1").tensor().string_val_size(), 3);
}

TEST_F(EventLogTest, ManyEvaluationsShareAPicture) {
  Train(kRegression);
  Steps expected;
  for (int64_t step = 5; step <= 100; step += 5) expected.push_back(step);
  EXPECT_EQ(StepsOf("attention/sample_1"), expected);
}

}  // namespace
}  // namespace regard
