// Tests runs whose program is killed, interrupted, or started twice. Their
// results must be bit-identical to an uninterrupted run.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "autodiff/random.h"
#include "experiments/testing/child_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace regard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kConfig[] = R"(
name: "kill"
data { phrasebook { train: 240 dev: 4 test: 4 test_unseen_pairs: 4 } }
model {
  encoder { embedding: 16 hidden: 16 bidirectional: true }
  attention { additive { width: 16 } dropout: 0.1 }
  decoder {
    embedding: 16
    hidden: 16
    initial_state: PROJECTED
    embedding_dropout: 0.2
  }
}
optimizer { adam {} clip_norm: 1 learning_rate: 0.004 }
training {
  epochs: 12
  batch_size: 16
  log_every: 4
  evaluate_every: 3
  checkpoint_every: 5
}
)";

// A run on the corpus in the folder "corpus". It uses subword sampling in each
// epoch, batches by length, early stopping, averaged weights, and products with
// rounded operands. It saves checkpoints in the middle of epochs.
constexpr char kCorpusConfig[] = R"(
name: "kill" precision: BFLOAT16_PRODUCTS keep_float32: "encoder"
data {
  pairs {
    train { source: "$0/s" target: "$0/t" }
    dev_sample: 8
    subwords { vocabulary_size: 60 sampling { alpha: 0.2 } }
  }
}
model {
  encoder { embedding: 16 hidden: 16 }
  attention { additive { width: 16 } dropout: 0.1 }
  decoder { embedding: 16 hidden: 16 embedding_dropout: 0.2 }
}
optimizer { adam {} clip_norm: 1 learning_rate: 0.004 }
training {
  epochs: 10
  group_by_length: true
  batch_tokens: 250
  log_every: 4
  checkpoint_every: 5
  early_stopping { metric: "dev/loss" patience: 4 }
  average: 3
}
)";

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

nlohmann::json StatusOf(const std::string& run) {
  return nlohmann::json::parse(ReadText(run + "/status.json"), nullptr,
                               /*allow_exceptions=*/false);
}

// Returns the content of every file under a folder, by path.
std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      contents[entry.path().string()] = ReadText(entry.path().string());
    }
  }
  return contents;
}

class KillTest : public ::testing::Test {
 protected:
  KillTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = absl::StrCat(::testing::TempDir(), "/kill_test.", test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(Path("kill.textproto")) << kConfig;
  }
  ~KillTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }

  std::unique_ptr<ChildProgram> Start(
      const std::string& run, const std::vector<std::string>& more = {}) {
    std::vector<std::string> command = {
        "experiments/train", "--config=" + Path("kill.textproto"),
        "--run=" + Path(run), "--threads=2", "--omit_times"};
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<ChildProgram>(
        command, Path(absl::StrCat("output", ++started_)));
  }

  // Uses kCorpusConfig for the following runs.
  void UseCorpus() {
    std::filesystem::create_directories(Path("corpus"));
    std::ofstream source(Path("corpus/s"));
    std::ofstream target(Path("corpus/t"));
    const char* const words[] = {"red",  "green", "blue",  "white",
                                 "lion", "tiger", "zebra", "goat"};
    for (int i = 0; i < 200; ++i) {
      const char* const color = words[i % 4];
      const char* const animal = words[4 + i / 4 % 4];
      source << "a " << color << " " << animal << " " << i << "\n";
      target << i << " " << animal << "s, all " << color << "\n";
    }
    std::ofstream(Path("kill.textproto"))
        << absl::Substitute(kCorpusConfig, Path("corpus"));
  }

  // Kills and resumes a run repeatedly, until it ends. Its results must be
  // bit-identical to an uninterrupted run.
  void ExpectTheSameBitsAfterKills();

  // Trains a run without interruption and returns the digest of its weights.
  std::string RunInPeace(const std::string& run) {
    const auto child = Start(run);
    EXPECT_EQ(child->Wait(), 0) << child->Errors();
    EXPECT_EQ(StatusOf(Path(run))["state"], "finished");
    return StatusOf(Path(run))["weights_digest"];
  }

  // Waits until the run has a checkpoint.
  void AwaitCheckpoint(const std::string& run) const {
    const absl::Time limit = absl::Now() + absl::Seconds(60);
    while (!std::filesystem::exists(Path(run) + "/checkpoints/step-5") &&
           absl::Now() < limit) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

 private:
  std::string folder_;
  int started_ = 0;
};

void KillTest::ExpectTheSameBitsAfterKills() {
  const absl::Time start = absl::Now();
  const std::string digest = RunInPeace("peace");
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const RandomStream random(7, "kill");
  int kills = 0;
  int code = -1;
  for (uint64_t i = 0; i < 60 && code != 0; ++i) {
    const auto child = Start("killed", {"--resume"});
    if (kills < 10) {
      // Most kills occur during training, and some before it. The first kills
      // are early, because this run may be faster than the uninterrupted run.
      const double share = std::min(0.4, 0.1 * static_cast<double>(i + 1));
      absl::SleepFor(absl::Seconds(
          seconds * share * static_cast<double>(random.UniformIntAt(i, 1000)) /
          1000));
      child->Signal(SIGKILL);
    }
    code = child->Wait();
    if (code == 128 + SIGKILL) {
      ++kills;
    } else {
      ASSERT_EQ(code, 0) << child->Errors();
    }
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(StatusOf(Path("killed"))["state"], "finished");
  EXPECT_EQ(StatusOf(Path("killed"))["weights_digest"], digest);
  EXPECT_EQ(StatusOf(Path("killed")), StatusOf(Path("peace")));
  EXPECT_EQ(ReadText(Path("killed/metrics.jsonl")),
            ReadText(Path("peace/metrics.jsonl")));
  // Both folders must have the same last checkpoints, with all their files.
  std::map<std::string, std::string> files[2];
  for (int i = 0; i < 2; ++i) {
    const std::string run = Path(i == 0 ? "killed" : "peace");
    for (const auto& [path, text] : Contents(run + "/checkpoints")) {
      files[i][path.substr(run.size())] = text;
    }
  }
  EXPECT_TRUE(files[0] == files[1]);
  EXPECT_GT(files[0].size(), 4);
}

TEST_F(KillTest, AKilledRunEndsWithTheSameBits) {
  ExpectTheSameBitsAfterKills();
}

TEST_F(KillTest, AKilledRunWithSampledSubwordsEndsWithTheSameBits) {
  UseCorpus();
  ExpectTheSameBitsAfterKills();
  EXPECT_EQ(ReadText(Path("killed/subwords.model")),
            ReadText(Path("peace/subwords.model")));
}

// The run stops at a checkpoint in the middle of an epoch.
TEST_F(KillTest, AResumedRunReadsTheSubwordsThatItHasKept) {
  UseCorpus();
  const std::string digest = RunInPeace("peace");
  const auto child = Start("run");
  AwaitCheckpoint("run");
  child->Signal(SIGINT);
  ASSERT_EQ(child->Wait(), 130) << child->Errors();
  const std::string model = ReadText(Path("run/subwords.model"));

  // Changes the stored model, then the text.
  std::ofstream(Path("run/subwords.model"), std::ios::app) << "\xc0\x3e\x01";
  const auto other_model = Start("run", {"--resume"});
  EXPECT_EQ(other_model->Wait(), 2);
  EXPECT_THAT(other_model->Errors(), HasSubstr("subwords.model: SHA-256 "));
  std::ofstream(Path("run/subwords.model")) << model;
  const std::string text = ReadText(Path("corpus/s"));
  std::ofstream(Path("corpus/s")) << "A" << text.substr(1);
  const auto other_data = Start("run", {"--resume"});
  EXPECT_EQ(other_data->Wait(), 2);
  EXPECT_THAT(other_data->Errors(),
              HasSubstr("data.pairs.train.source: SHA-256 "));
  std::ofstream(Path("corpus/s")) << text;

  // PATH does not contain the program that trains subwords.
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nowhere", 1);
  const auto resumed = Start("run", {"--resume"});
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(resumed->Wait(), 0) << resumed->Errors();
  EXPECT_EQ(StatusOf(Path("run"))["weights_digest"], digest);
}

TEST_F(KillTest, AnInterruptedRunIsSavedAndCanContinue) {
  const std::string digest = RunInPeace("peace");
  for (const auto& [number, code] :
       {std::pair<int, int>{SIGINT, 130}, {SIGTERM, 143}}) {
    const std::string run = absl::StrCat("stopped", code);
    const auto child = Start(run);
    AwaitCheckpoint(run);
    child->Signal(number);
    ASSERT_EQ(child->Wait(), code) << child->Errors();
    EXPECT_THAT(child->Errors(), HasSubstr("everything saved"));
    const nlohmann::json status = StatusOf(Path(run));
    EXPECT_EQ(status["state"], "interrupted");
    EXPECT_TRUE(std::filesystem::exists(absl::StrCat(
        Path(run), "/checkpoints/step-", status["step"].get<int64_t>())));
    const auto resumed = Start(run, {"--resume"});
    EXPECT_EQ(resumed->Wait(), 0) << resumed->Errors();
    EXPECT_THAT(resumed->Errors(),
                HasSubstr(absl::StrCat("resuming at step ",
                                       status["step"].get<int64_t>())));
    EXPECT_EQ(StatusOf(Path(run))["weights_digest"], digest);
    EXPECT_EQ(ReadText(Path(run) + "/metrics.jsonl"),
              ReadText(Path("peace/metrics.jsonl")));
  }
}

TEST_F(KillTest, ASecondSignalEndsARunAtOnce) {
  for (const int number : {SIGINT, SIGTERM}) {
    bool at_once = false;
    // Repeats, because a run may finish saving before the second signal
    // arrives.
    for (int i = 0; i < 20 && !at_once; ++i) {
      const std::string run = absl::StrCat("twice", number, "_", i);
      const auto child = Start(run);
      AwaitCheckpoint(run);
      child->Signal(number);
      absl::SleepFor(absl::Milliseconds(1));
      child->Signal(number);
      EXPECT_EQ(child->Wait(), 128 + number) << child->Errors();
      at_once = !absl::StrContains(child->Errors(), "everything saved");
    }
    EXPECT_TRUE(at_once) << number;
  }
}

TEST_F(KillTest, ASecondWriterIsRefused) {
  const auto first = Start("run");
  AwaitCheckpoint("run");
  first->Signal(SIGSTOP);
  const auto second = Start("run", {"--resume"});
  EXPECT_EQ(second->Wait(), 2);
  EXPECT_THAT(second->Errors(), HasSubstr("another process is writing"));
  first->Signal(SIGCONT);
  EXPECT_EQ(first->Wait(), 0);
  EXPECT_EQ(StatusOf(Path("run"))["state"], "finished");
}

TEST_F(KillTest, AFolderThatHoldsARunStaysAsItIs) {
  RunInPeace("run");
  const std::map<std::string, std::string> before = Contents(Path("run"));
  const auto again = Start("run");
  EXPECT_EQ(again->Wait(), 2);
  EXPECT_THAT(again->Errors(), HasSubstr("already holds a run"));
  EXPECT_EQ(Contents(Path("run")), before);
}

TEST_F(KillTest, ResumingAFinishedRunChangesNothing) {
  RunInPeace("run");
  const std::map<std::string, std::string> before = Contents(Path("run"));
  // A run that is killed after its last save may leave an older checkpoint.
  std::filesystem::copy(Path("run/checkpoints/step-180"),
                        Path("run/checkpoints/step-1"));
  const auto again = Start("run", {"--resume"});
  EXPECT_EQ(again->Wait(), 0) << again->Errors();
  EXPECT_EQ(Contents(Path("run")), before);
  // Resumes without --config, with the config in the run folder.
  ChildProgram without_config(
      {"experiments/train", "--resume", "--omit_times", "--run=" + Path("run")},
      Path("again"));
  EXPECT_EQ(without_config.Wait(), 0) << without_config.Errors();
  EXPECT_EQ(Contents(Path("run")), before);
}

TEST_F(KillTest, ABaselineThatChangesAMessageCanBeResumed) {
  std::ofstream(Path("kill.textproto"), std::ios::app)
      << "baseline { override { path: \"model.attention\" "
         "value: \"{ position_encoding { rotary {} } }\" } }\n";
  ASSERT_THAT(RunInPeace("run"), Not(IsEmpty()));
  const auto before = Contents(Path("run/baseline"));
  EXPECT_THAT(before.at(Path("run/baseline/resolved.textproto")),
              HasSubstr("base: 10000  # default"));
  const auto again = Start("run", {"--resume"});
  EXPECT_EQ(again->Wait(), 0) << again->Errors();
  EXPECT_EQ(Contents(Path("run/baseline")), before);
}

TEST_F(KillTest, AMissingVocabularyIsWrittenAgainAndAChangedOneRefused) {
  RunInPeace("run");
  const std::map<std::string, std::string> before = Contents(Path("run"));
  const std::string target = Path("run/target_vocabulary.txt");
  std::filesystem::remove(Path("run/source_vocabulary.txt"));
  std::string changed = before.at(target);
  changed[changed.size() - 2] ^= 1;
  std::ofstream(target) << changed;
  const auto refused = Start("run", {"--resume"});
  EXPECT_EQ(refused->Wait(), 2);
  EXPECT_THAT(refused->Errors(),
              HasSubstr("target_vocabulary.txt: error: does not match"));
  EXPECT_FALSE(std::filesystem::exists(Path("run/source_vocabulary.txt")));
  EXPECT_EQ(ReadText(target), changed);
  std::filesystem::remove(target);
  const auto again = Start("run", {"--resume"});
  EXPECT_EQ(again->Wait(), 0) << again->Errors();
  EXPECT_THAT(again->Errors(),
              HasSubstr("source_vocabulary.txt was missing: written again"));
  EXPECT_EQ(Contents(Path("run")), before);
}

TEST_F(KillTest, AConfigThatDiffersIsRefusedSayingWhere) {
  RunInPeace("run");
  const std::map<std::string, std::string> before = Contents(Path("run"));
  const auto other =
      Start("run", {"--resume", "--set", "optimizer.learning_rate=0.01"});
  EXPECT_EQ(other->Wait(), 2);
  EXPECT_THAT(other->Errors(), HasSubstr("optimizer.learning_rate: 0.004"));
  EXPECT_THAT(other->Errors(), HasSubstr("0.01 now"));
  EXPECT_EQ(Contents(Path("run")), before);
}

TEST_F(KillTest, ResumingWithoutACheckpointStartsAtStepZeroWithANote) {
  const std::string digest = RunInPeace("peace");
  std::filesystem::create_directories(Path("empty"));
  for (const char* run : {"empty", "missing"}) {
    const auto child = Start(run, {"--resume"});
    EXPECT_EQ(child->Wait(), 0) << child->Errors();
    EXPECT_THAT(child->Errors(), HasSubstr("starting at step 0"));
    EXPECT_EQ(StatusOf(Path(run))["weights_digest"], digest);
  }
}

TEST_F(KillTest, ADamagedFileOfARunToResumeIsWrongInput) {
  RunInPeace("run");
  for (const char* name : {"metrics.jsonl", "examples.jsonl"}) {
    const std::string path = Path("run/") + name;
    const std::string good = ReadText(path);
    std::string bad = good;
    bad[bad.find('\n') + 1] = '?';
    std::ofstream(path) << bad;
    const auto child = Start("run", {"--resume"});
    EXPECT_EQ(child->Wait(), 2) << name;
    EXPECT_THAT(child->Errors(), HasSubstr(path + ":2:1: error: not "));
    EXPECT_EQ(StatusOf(Path("run"))["state"], "finished");
    std::ofstream(path) << good;
  }
}

TEST_F(KillTest, AnUnreadableCheckpointIsNotSkipped) {
  RunInPeace("run");
  const auto before = Contents(Path("run"));
  const std::string weights =
      Path("run/checkpoints/step-180/weights.safetensors");
  std::filesystem::permissions(weights, std::filesystem::perms::none);
  std::filesystem::copy(Path("run/checkpoints/step-175"),
                        Path("run/checkpoints/step-170"));
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"experiments/train", "--resume",
                                 "--omit_times", "--run=" + Path("run")},
        {"experiments/train", "--config=" + Path("kill.textproto"),
         "--run=" + Path("other"),
         "--set=training.initial_weights.run=\"" + Path("run") + "\""},
        {"experiments/train", "--config=" + Path("kill.textproto"),
         "--run=" + Path("other"),
         "--set=baseline.override=[{path: \"training.initial_weights.run\" "
         "value: \"'" +
             Path("run") + "'\"}]"}}) {
    ChildProgram child(command, Path("denied"), /*unprivileged=*/true);
    EXPECT_EQ(child.Wait(), 1);
    EXPECT_THAT(child.Errors(),
                HasSubstr(weights + ": cannot open: Permission denied"));
  }
  // No checkpoint may have been removed or added.
  EXPECT_TRUE(
      std::filesystem::exists(Path("run/checkpoints/step-170/manifest.json")));
  EXPECT_FALSE(std::filesystem::exists(Path("other")));
  std::filesystem::permissions(weights, std::filesystem::perms::owner_all);
  std::filesystem::remove_all(Path("run/checkpoints/step-170"));
  EXPECT_EQ(Contents(Path("run")), before);
}

TEST_F(KillTest, ALinkInTheFolderIsRefusedAndNothingElsewhereTouched) {
  RunInPeace("run");
  for (const char* name : {"metrics.jsonl", ".lock", "checkpoints"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path entry = Path("run/") + name;
    std::filesystem::rename(entry, Path("elsewhere"));
    std::filesystem::create_symlink("../elsewhere", entry);
    const auto before = Contents(Path("run"));
    const auto text = ReadText(Path("elsewhere"));
    const auto child = Start("run", {"--resume"});
    EXPECT_EQ(child->Wait(), 2);
    EXPECT_THAT(
        child->Errors(),
        HasSubstr(absl::StrCat(entry.string(), ": error: is a symbolic")));
    EXPECT_EQ(Contents(Path("run")), before);
    EXPECT_EQ(ReadText(Path("elsewhere")), text);
    std::filesystem::remove(entry);
    std::filesystem::rename(Path("elsewhere"), entry);
  }
}

// Resuming without --config must use the config in the run folder.
TEST_F(KillTest, ARunKilledBeforeItsFirstCheckpointKeepsItsConfig) {
  const std::string digest = RunInPeace("run");
  const std::string given = ReadText(Path("run/config.textproto"));
  const std::string resolved = ReadText(Path("run/resolved.textproto"));
  std::filesystem::remove_all(Path("run/checkpoints"));
  std::ofstream(Path("run/status.json"))
      << R"({"state":"running","step":2,"metrics":{},"weights_digest":""})";
  ChildProgram again({"experiments/train", "--resume", "--run=" + Path("run")},
                     Path("again"));
  EXPECT_EQ(again.Wait(), 0) << again.Errors();
  EXPECT_THAT(again.Errors(), HasSubstr("starting at step 0"));
  EXPECT_EQ(StatusOf(Path("run"))["weights_digest"], digest);
  EXPECT_EQ(ReadText(Path("run/config.textproto")), given);
  EXPECT_EQ(ReadText(Path("run/resolved.textproto")), resolved);
}

TEST_F(KillTest, ARunKilledBeforeItBeganStartsAgain) {
  std::filesystem::create_directories(Path("torn"));
  std::ofstream(Path("torn/config.textproto")) << kConfig;
  const auto child = Start("torn", {"--resume"});
  EXPECT_EQ(child->Wait(), 0) << child->Errors();
  EXPECT_THAT(child->Errors(), HasSubstr("starting at step 0"));
}

}  // namespace
}  // namespace regard
