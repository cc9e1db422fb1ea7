// Tests the guarantees of the trainer. Results must be bit-identical for any
// number of threads and ranks, and for a run that is interrupted several times.
// After the first optimizer steps, a step must not allocate memory.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "autodiff/testing/allocation_counter.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/progress.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/metrics_log.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/task.h"
#include "experiments/testing/bits_test_experiments.h"
#include "experiments/training/batch_plan.h"
#include "experiments/training/trainer.h"
#include "files/file.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "optimization/ranks/ranks.h"
#include "optimization/testing/thread_ranks.h"

namespace regard {
namespace {

// Writes a corpus: the sources are the numbers up to 79 in words, and the
// targets are the same words in reverse order.
std::string WriteCorpus() {
  const char* const ones[] = {"zero", "one", "two",   "three", "four",
                              "five", "six", "seven", "eight", "nine"};
  const char* const tens[] = {"none",  "ten",   "twenty", "thirty",
                              "forty", "fifty", "sixty",  "seventy"};
  std::string path = absl::StrCat(::testing::TempDir(), "/numbers.tsv");
  std::ofstream file(path, std::ios::binary);
  for (int i = 0; i < 80; ++i) {
    const std::string ten = tens[i / 10];
    const std::string one = ones[i % 10];
    file << ten << one << "\t" << one << " and " << ten << "\n";
  }
  return path;
}

Experiment Parse(const std::string& text) {
  Experiment config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  config.mutable_training()->set_keep_checkpoints(1000);
  if (config.data().has_pairs()) {
    config.mutable_data()->mutable_pairs()->mutable_train()->set_path(
        WriteCorpus());
  }
  return config;
}

std::unique_ptr<Task> TaskOf(const Experiment& config) {
  return *BuildTask(config, BuiltInPlugins());
}

class TrainerTest : public ::testing::Test {
 protected:
  TrainerTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(),
                           ".", test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TrainerTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }

  // Trains in `run`. If `from` is not negative, resumes from the last
  // checkpoint of at most `from` steps. If `stop` is not 0, stops after `stop`
  // steps. Returns the signal that stopped the training, or 0.
  int Train(const Experiment& config, int threads, const std::string& run,
            int64_t from = -1, int64_t stop = 0, Task* given_task = nullptr,
            Ranks* ranks = nullptr) const {
    std::filesystem::create_directories(Path(run));
    const std::string log_path = Path(run) + "/metrics.jsonl";
    absl::StatusOr<FileWriter> log = from >= 0
                                         ? ResumeMetricsLog(log_path, from)
                                         : FileWriter::Create(log_path);
    EXPECT_TRUE(log.ok());
    std::atomic<int> signal = 0;
    const std::string last = absl::StrCat("step ", stop, "/");
    ProgressOutput output;
    output.write = [&](absl::string_view line) {
      if (absl::StartsWith(line, last)) signal = SIGINT;
    };
    output.now = [] { return absl::UnixEpoch(); };
    output.width = [] { return 0; };
    const std::unique_ptr<Task> own_task =
        given_task == nullptr ? TaskOf(config) : nullptr;
    Trainer trainer(config, given_task == nullptr ? *own_task : *given_task,
                    BuiltInPlugins(),
                    {.threads = threads,
                     .omit_times = true,
                     .stop_signal = &signal,
                     .ranks = ranks});
    Progress progress(trainer.total_steps(), /*plain_interval=*/1, output);
    if (from >= 0) {
      const absl::StatusOr<FoundCheckpoints> latest =
          FindCheckpoints(Path(run));
      EXPECT_TRUE(latest.ok() && !latest->checkpoints.empty());
      EXPECT_TRUE(trainer.Restore(latest->checkpoints[0]).ok());
      EXPECT_EQ(trainer.step(), from);
    }
    const absl::StatusOr<int> stopped_by = trainer.Run(
        {.updated = [&](const auto& update) { progress.Update(update); },
         .recorded =
             [&](const auto& record) {
               return log->Append(MetricsLine(record));
             },
         .checkpointed =
             [&](const auto& content) {
               return SaveCheckpoint(Path(run), content,
                                     config.training().keep_checkpoints(),
                                     SystemFiles());
             }});
    EXPECT_TRUE(stopped_by.ok()) << stopped_by.status();
    return *stopped_by;
  }

  // Trains with `size` ranks of one thread each. Rank 0 writes the files and
  // receives the stop signal.
  void TrainByRanks(const Experiment& config, int size, const std::string& run,
                    int64_t from = -1, int64_t stop = 0) const {
    // Makes the tasks one after another, because training subwords calls
    // programs that use files.
    std::vector<std::unique_ptr<Task>> tasks;
    for (int i = 0; i < size; ++i) tasks.push_back(TaskOf(config));
    RunRanks(size, [&](Ranks& ranks) {
      Task& task = *tasks[ranks.rank()];
      if (ranks.rank() == 0) {
        EXPECT_EQ(Train(config, 1, run, from, stop, &task, &ranks),
                  stop > 0 ? SIGINT : 0);
        return;
      }
      Trainer trainer(config, task, BuiltInPlugins(), {.ranks = &ranks});
      if (from >= 0) {
        const auto latest = FindCheckpoints(Path(run));
        EXPECT_TRUE(trainer.Restore(latest->checkpoints[0]).ok());
      }
      const absl::StatusOr<int> stopped_by = trainer.Run();
      EXPECT_TRUE(stopped_by.ok()) << stopped_by.status();
    });
  }

  // Returns the content of every file of a run, by its path in the run folder.
  std::map<std::string, std::string> FilesOf(const std::string& run) const {
    std::map<std::string, std::string> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(Path(run))) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream bytes;
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files[std::filesystem::relative(entry.path(), Path(run)).string()] =
          bytes.str();
    }
    return files;
  }

 private:
  std::string folder_;
};

class BitsTest : public TrainerTest,
                 public ::testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Models, BitsTest,
                         ::testing::Values(kRegression, kGru, kLstm, kLuong,
                                           kLanguageModel, kLines, kSelected,
                                           kSampled, kImages, kCaptions,
                                           kMaskedWords, kClamped, kHeadOutputs,
                                           kMixers, kScoreMaps, kLatents,
                                           kRoundedGru, kRoundedTransformer));

TEST_P(BitsTest, DoNotDependOnThreads) {
  const Experiment config = Parse(GetParam());
  Train(config, 1, "1");
  const auto expected = FilesOf("1");
  EXPECT_GT(expected.size(), 8);
  for (const int threads : {1, 2, 3, 4, 8}) {
    const std::string run = absl::StrCat("with", threads);
    Train(config, threads, run);
    EXPECT_TRUE(FilesOf(run) == expected) << threads << " threads";
  }
}

TEST_P(BitsTest, DoNotDependOnRanks) {
  const Experiment config = Parse(GetParam());
  Train(config, 1, "1");
  const auto expected = FilesOf("1");
  for (const int size : {2, 8}) {
    const std::string run = absl::StrCat("by", size);
    TrainByRanks(config, size, run);
    EXPECT_TRUE(FilesOf(run) == expected) << size << " ranks";
  }
  // Stops at a checkpoint, and resumes with another number of ranks.
  TrainByRanks(config, 2, "stopped", -1, 3);
  TrainByRanks(config, 4, "stopped", 3);
  EXPECT_TRUE(FilesOf("stopped") == expected);
}

TEST_P(BitsTest, DoNotDependOnStops) {
  const Experiment config = Parse(GetParam());
  Train(config, 2, "peace");
  auto expected = FilesOf("peace");
  // Stops between checkpoints, at a checkpoint, and before an evaluation.
  for (const int64_t stop : {1, 3, 4, 7}) {
    const std::string run = absl::StrCat("stopped", stop);
    ASSERT_EQ(Train(config, 2, run, -1, stop), SIGINT);
    EXPECT_EQ(Train(config, 3, run, stop), 0);
    auto files = FilesOf(run);
    // When the run stopped, it must have saved a checkpoint of this step.
    const std::string own = absl::StrCat("checkpoints/step-", stop, "/");
    for (const char* name : {"manifest.json", "optimizer.safetensors",
                             "state.textproto", "weights.safetensors"}) {
      if (expected.count(own + name) == 0) {
        EXPECT_EQ(files.erase(own + name), 1);
      }
    }
    if (expected.count(own + "best.safetensors") == 0) {
      files.erase(own + "best.safetensors");
    }
    EXPECT_TRUE(files == expected) << "stopped after " << stop;
  }
}

TEST_P(BitsTest, AreFoundAgainFromAnyCheckpoint) {
  const Experiment config = Parse(GetParam());
  Train(config, 2, "peace");
  const auto expected = FilesOf("peace");
  for (const int64_t from : {3, 6}) {
    // The log has records after the last checkpoint, as after a crash.
    const std::string run = absl::StrCat("from", from);
    std::filesystem::copy(Path("peace"), Path(run),
                          std::filesystem::copy_options::recursive);
    for (const auto& entry :
         std::filesystem::directory_iterator(Path(run) + "/checkpoints")) {
      const std::string name = entry.path().filename().string();
      if (std::stoll(name.substr(name.find('-') + 1)) > from) {
        std::filesystem::remove_all(entry.path());
      }
    }
    EXPECT_EQ(Train(config, 4, run, from), 0);
    EXPECT_TRUE(FilesOf(run) == expected) << "from step " << from;
  }
}

TEST_F(TrainerTest, RoundedProductsChangeTheBits) {
  for (const char* text : {kRoundedGru, kRoundedTransformer}) {
    const Experiment rounded = Parse(text);
    const bool keeps = rounded.keep_float32_size() > 0;
    Experiment all_rounded = rounded;
    all_rounded.clear_keep_float32();
    Experiment full = all_rounded;
    full.clear_precision();
    std::vector<std::string> weights;
    for (const Experiment& config : {rounded, all_rounded, full}) {
      const std::string run =
          absl::StrCat(keeps ? "transformer" : "gru", weights.size());
      Train(config, 1, run);
      weights.emplace_back();
      for (const auto& [path, content] : FilesOf(run)) {
        if (absl::EndsWith(path, "/weights.safetensors")) {
          weights.back().append(content);
        }
      }
    }
    EXPECT_GT(weights[0].size(), 0);
    EXPECT_EQ(weights[0] != weights[1], keeps);
    EXPECT_FALSE(weights[1] == weights[2]);
    EXPECT_FALSE(weights[0] == weights[2]);
  }
}

class FinishedTest : public BitsTest {};

INSTANTIATE_TEST_SUITE_P(Models, FinishedTest,
                         ::testing::Values(kGru, kSelected, kSampled));

TEST_P(FinishedTest, AFinishedRunStaysAsItIs) {
  const Experiment config = Parse(GetParam());
  Train(config, 2, "run");
  const auto expected = FilesOf("run");
  const std::unique_ptr<Task> task = TaskOf(config);
  const int64_t steps = BatchPlan(config, task->model()).total_updates();
  EXPECT_EQ(Train(config, 2, "run", steps), 0);
  EXPECT_TRUE(FilesOf("run") == expected);
}

// Records the number of allocations at the beginning of each optimizer step.
class CountingTask : public Task, public Model<float> {
 public:
  CountingTask(std::unique_ptr<Task> task, size_t updates)
      : Task(task->metrics()), task_(std::move(task)) {
    counts_.reserve(updates);
  }

  const std::vector<int64_t>& counts() const { return counts_; }

  Model<float>& model() override { return *this; }
  Showcase Show(Forward<float>& forward, bool final) const override {
    return task_->Show(forward, final);
  }

  ParameterStore<float>& parameters() override {
    return task_->model().parameters();
  }
  int64_t num_examples() const override {
    return task_->model().num_examples();
  }
  int64_t CountWork(absl::Span<const int64_t> examples) const override {
    return task_->model().CountWork(examples);
  }
  void BeginEpoch(std::optional<int64_t> epoch) override {
    task_->model().BeginEpoch(epoch);
  }
  SequenceLengths Lengths(int64_t example) const override {
    return task_->model().Lengths(example);
  }
  absl::Span<const LossTerm> loss_terms() const override {
    return task_->model().loss_terms();
  }
  void Denominators(absl::Span<const int64_t> examples,
                    absl::Span<double> denominators) const override {
    counts_.push_back(AllocationCount());
    task_->model().Denominators(examples, denominators);
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override {
    task_->model().Loss(forward, examples, denominators, sums);
  }
  std::vector<EvaluatedSet> Evaluate(Forward<float>&, Split) const override {
    return {};
  }

 private:
  const std::unique_ptr<Task> task_;
  mutable std::vector<int64_t> counts_;
};

TEST_F(TrainerTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  for (const char* text :
       {kRegression, kGru, kLstm, kLuong, kLanguageModel, kLines, kSelected,
        kSampled, kHeadOutputs, kMixers, kRoundedGru, kRoundedTransformer}) {
    Experiment config = Parse(text);
    // Removes the requests at hook points, which allocate memory for names.
    config.clear_intervene();
    config.clear_probe();
    // Removes settings that require an evaluation, because this test has none.
    config.mutable_training()->clear_early_stopping();
    if (config.optimizer().schedule().has_reduce_on_plateau()) {
      config.mutable_optimizer()->clear_schedule();
    }
    config.mutable_training()->clear_batch_tokens();
    config.set_num_shards(2);
    config.mutable_optimizer()->clear_accumulate_batches();
    Training& training = *config.mutable_training();
    training.set_epochs(12);
    training.set_batch_size(6);
    training.clear_log_every();
    training.clear_checkpoint_every();
    training.set_keep_checkpoints(1);
    std::unique_ptr<Task> inner = TaskOf(config);
    const int64_t total = BatchPlan(config, inner->model()).total_updates();
    const auto per_epoch = static_cast<size_t>(total / training.epochs());
    ASSERT_GT(per_epoch, 4);
    CountingTask task(std::move(inner), static_cast<size_t>(total));
    ProgressOutput output;
    output.write = [](absl::string_view) {};
    output.now = [] { return absl::UnixEpoch(); };
    output.width = [] { return 0; };
    Progress progress(total, /*plain_interval=*/total, output);
    absl::StatusOr<FileWriter> log = FileWriter::Create(Path("metrics.jsonl"));
    ASSERT_TRUE(log.ok());
    Trainer trainer(config, task, BuiltInPlugins(), {.threads = 2});
    ASSERT_TRUE(
        trainer
            .Run({.updated =
                      [&](const auto& update) { progress.Update(update); },
                  .recorded =
                      [&](const auto& record) {
                        return log->Append(MetricsLine(record));
                      }})
            .ok());
    // Counts from the first optimizer step of an epoch to its last. A slow
    // thread may claim its first shard late, in any epoch, and then allocates.
    // Therefore, the test uses the minimum over the last six epochs.
    const std::vector<int64_t>& counts = task.counts();
    ASSERT_EQ(counts.size(), total);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (size_t epoch = 0; epoch < 6; ++epoch) {
      const size_t end = counts.size() - epoch * per_epoch;
      least = std::min(least, counts[end - 1] - counts[end - per_epoch]);
    }
    EXPECT_EQ(least, 0) << text;
  }
}

}  // namespace
}  // namespace regard
