// Trains random models, kills and resumes training, and opens the runs with
// every program for their kind. Start it with
//
//   bazel run //tools:random_models -- --seeds=1-300 [--jobs=2]
//       [--other_train=FILE]
//
// Prints a line for each failure with the seed and the config, and the number
// of failures. Exits with 1 if there is a failure, or if a model was not opened
// although its loss did not diverge.
#include <signal.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "experiments/experiment.pb.h"
#include "experiments/testing/child_program.h"
#include "experiments/testing/random_config.h"
#include "google/protobuf/text_format.h"
#include "options/command_line.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Trains, kills and resumes random models, and opens their runs.\n\n"
    "  random_models --seeds=A-B [--jobs=N] [--other_train=FILE]\n\n"
    "Examples:\n"
    "  random_models --seeds=1-300\n"
    "  random_models --seeds=7-7 --other_train=/tmp/clang/train";

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Returns the content of every file under a folder, by its relative path.
std::map<std::string, std::string> Contents(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    contents[path.substr(folder.size())] = ReadAll(path);
  }
  return contents;
}

// Removes the files that record which programs and processes trained the run.
std::map<std::string, std::string> WithoutEnvironment(
    std::map<std::string, std::string> contents) {
  std::erase_if(contents, [](const auto& file) {
    return absl::EndsWith(file.first, "/environment.json");
  });
  return contents;
}

bool HasCheckpoint(const std::string& run) {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(run + "/checkpoints", error)) {
    if (absl::StartsWith(entry.path().filename().string(), "step-")) {
      return true;
    }
  }
  return false;
}

class RandomModel {
 public:
  RandomModel(uint64_t seed, Experiment config, std::string folder,
              std::string other_train)
      : seed_(seed),
        config_(std::move(config)),
        folder_(std::move(folder)),
        other_train_(std::move(other_train)) {
    std::filesystem::create_directories(folder_);
    WriteConfig("config", config_);
  }

  // Returns the failures, one per line.
  std::vector<std::string> Exercise() {
    if (!Train("whole", {"--config=" + Path("config"), "--threads=1"},
               kExitDiverged)) {
      return failures_;
    }
    diverged_ = code_ == kExitDiverged;
    if (diverged_) return failures_;
    const std::map<std::string, std::string> whole = Contents(Path("whole"));
    KillOnce();
    if (Train("killed", {"--resume", "--threads=3"})) {
      Compare("a run that was killed", WithoutEnvironment(whole),
              WithoutEnvironment(Contents(Path("killed"))));
    }
    if (Train("whole", {"--resume", "--threads=2"})) {
      Compare("a run that was resumed at its end", whole,
              Contents(Path("whole")));
    }
    if (!other_train_.empty() &&
        Run({other_train_, "--run=" + Path("other"), "--omit_times",
             "--config=" + Path("config"), "--threads=1"})) {
      Compare("a run of the other program", WithoutEnvironment(whole),
              WithoutEnvironment(Contents(Path("other"))));
    }
    Open();
    was_opened_ = true;
    return failures_;
  }

  bool was_killed() const { return was_killed_; }
  bool was_opened() const { return was_opened_; }
  bool diverged() const { return diverged_; }

 private:
  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
  }

  void WriteConfig(const std::string& name, const Experiment& config) const {
    std::string text;
    google::protobuf::TextFormat::PrintToString(config, &text);
    std::ofstream(Path(name)) << text;
  }

  void Fail(const std::string& what) {
    failures_.push_back(
        absl::StrReplaceAll(absl::StrCat("seed ", seed_, ": ", what, " | ",
                                         config_.ShortDebugString()),
                            {{"\n", " "}}));
  }

  // Runs a program. It must exit with 0 or `other_code`. If it does not,
  // records a failure and returns false.
  bool Run(const std::vector<std::string>& command, int other_code = 0) {
    ChildProgram program(command, Path("output"));
    code_ = program.Wait();
    elapsed_ = program.TotalDuration();
    if (code_ == 0 || code_ == other_code) return true;
    Fail(absl::StrCat(command[0], " ", command[1], " ends with ", code_, ": ",
                      program.Errors()));
    return false;
  }

  bool Train(const std::string& run, std::vector<std::string> arguments,
             int other_code = 0) {
    arguments.insert(arguments.begin(), {"experiments/train",
                                         "--run=" + Path(run), "--omit_times"});
    return Run(arguments, other_code);
  }

  // Kills the training after its first checkpoint. The seed determines when,
  // within the duration of the whole run.
  void KillOnce() {
    ChildProgram program(
        {"experiments/train", "--run=" + Path("killed"), "--omit_times",
         "--config=" + Path("config"), "--threads=2"},
        Path("killed_output"));
    const absl::Time end = absl::Now() + elapsed_ * (seed_ % 32) / 32.0;
    const absl::Time limit = absl::Now() + absl::Seconds(20);
    while (!HasCheckpoint(Path("killed")) && absl::Now() < limit) {
      absl::SleepFor(absl::Microseconds(200));
    }
    absl::SleepFor(end - absl::Now());
    program.Signal(SIGKILL);
    was_killed_ = program.Wait() == 128 + SIGKILL;
  }

  void Compare(const std::string& what,
               const std::map<std::string, std::string>& whole,
               const std::map<std::string, std::string>& other) {
    for (const auto& [name, text] : whole) {
      // Skips files that record the text in which each field was set, because
      // these texts differ.
      if (absl::StartsWith(name, "/baseline/") &&
          absl::EndsWith(name, ".textproto")) {
        continue;
      }
      const auto found = other.find(name);
      if (found == other.end() || found->second != text) {
        return Fail(
            absl::StrCat(what, ": ", name,
                         found == other.end() ? " is missing" : " differs"));
      }
    }
    for (const auto& [name, text] : other) {
      // A run that is killed while it writes a file leaves a temporary file.
      if (absl::StrContains(name, ".tmp-")) continue;
      if (whole.count(name) == 0) return Fail(what + " has more: " + name);
    }
  }

  // Opens the run with each program that supports its kind.
  void Open() {
    const std::string run = "--run=" + Path("whole");
    // A run without test and dev data has no example to predict. A model of
    // masked words rejects an example whose tokens are all unknown.
    const std::string status = ReadAll(Path("whole/status.json"));
    const bool has_examples = absl::StrContains(status, "\"dev/") ||
                              absl::StrContains(status, "\"test/");
    const ModelConfig& model = config_.model();
    Run({"tools/predict", run, "--example=0"},
        has_examples && !model.has_bert() ? 0 : 2);
    Run({"tools/evaluate", run});
    if (model.has_decoder() || model.has_transformer()) {
      Run({"tools/translate", run, "a red lion .", "5"});
      Run({"tools/translate", run, "--sample", "--n_best=2", "two 3"});
      if (model.has_transformer() ||
          model.decoder().context() == RecurrentDecoderConfig::ATTENTION) {
        Run({"tools/inspect", run, "--source=a 3 red"});
      }
    } else if (model.has_language_model()) {
      // The prompt must contain only known tokens. A model of lines may have an
      // empty prompt.
      std::string prompt;
      if (model.language_model().unit() == LanguageModelConfig::BYTE_PAIRS) {
        prompt = "a red";
      } else if (model.language_model().examples() !=
                 LanguageModelConfig::LINES) {
        const std::vector<std::string> words = absl::StrSplit(
            ReadAll(Path("whole/vocabulary.txt")), '\n', absl::SkipEmpty());
        prompt = words.back() == "\\n" ? "\n" : words.back();
      }
      Run({"tools/generate", run, "--length=20", prompt});
    } else if (model.has_bert()) {
      Experiment classifier = config_;
      *classifier.mutable_data() = Data();
      classifier.mutable_data()->mutable_grammaticality()->set_train(20);
      auto& options = *classifier.mutable_model()->mutable_text_classifier();
      *options.mutable_bert() = model.bert();
      // Clears the vocabulary of the config, because it comes from the run.
      options.mutable_bert()->mutable_masked_words()->clear_vocabulary();
      options.mutable_bert()->mutable_masked_words()->clear_whole_words();
      options.set_pretrained(Path("whole"));
      classifier.mutable_training()->clear_early_stopping();
      WriteConfig("classifier", classifier);
      Train("classified", {"--config=" + Path("classifier")});
    }
    // Diverging is not a failure here, because a loss that increased in every
    // step may become infinite.
    Train("again",
          {"--config=" + Path("config"), "--set=baseline.override=[]",
           absl::StrCat("--set=training.initial_weights={run: '", Path("whole"),
                        "'}")},
          kExitDiverged);
    Run({"tools/average", run, "--last=1", "--out=" + Path("average")});
    for (const char* metric : {"dev/loss", "dev/mse"}) {
      if (!absl::StrContains(ReadAll(Path("whole/status.json")), metric)) {
        continue;
      }
      Run({"tools/average", run, "--last=1", absl::StrCat("--metric=", metric),
           "--out=" + Path("best")});
      break;
    }
  }

  uint64_t seed_;
  Experiment config_;
  std::string folder_;
  std::string other_train_;
  std::vector<std::string> failures_;
  absl::Duration elapsed_;  // duration of the last program
  int code_ = 0;            // exit code of the last program
  bool was_killed_ = false;
  bool was_opened_ = false;
  bool diverged_ = false;
};

// Runs the program, and returns its exit code.
int Main(int argc, char** argv) {
  std::string seeds;
  std::string other_train;
  int jobs = 1;
  CommandLine line(kUsage);
  line.Text("seeds", "A-B", &seeds, "first and last seed of the models");
  line.Number("jobs", &jobs, 1, 1024,
              "number of models that are trained at the same time");
  line.Text("other_train", "FILE", &other_train,
            "absolute path of //experiments:train built by another compiler, "
            "whose runs must be bit-identical");
  absl::Status parsed = line.Parse(argc, argv);
  const std::pair<std::string, std::string> range =
      absl::StrSplit(seeds, absl::MaxSplits('-', 1));
  uint64_t first = 0;
  uint64_t last = 0;
  if (parsed.ok() && (!absl::SimpleAtoi(range.first, &first) ||
                      !absl::SimpleAtoi(range.second, &last) || last < first)) {
    parsed = absl::InvalidArgumentError(
        "error: --seeds=A-B must be a range, such as 1-300");
  }
  if (!parsed.ok()) return ExitCode(parsed);

  std::string folder = absl::StrCat(
      std::filesystem::temp_directory_path().string(), "/random_models.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  testing::RandomConfigs configs(folder);
  std::mutex mutex;
  uint64_t next = first;
  uint64_t killed = 0;
  uint64_t opened = 0;
  uint64_t diverged = 0;
  uint64_t failed = 0;
  const auto work = [&] {
    while (true) {
      std::unique_lock<std::mutex> lock(mutex);
      if (next > last) return;
      const uint64_t seed = next++;
      const std::string place = absl::StrCat(folder, "/", seed);
      RandomModel model(seed, configs.Draw(seed), place, other_train);
      lock.unlock();
      const std::vector<std::string> failures = model.Exercise();
      lock.lock();
      killed += model.was_killed() ? 1 : 0;
      opened += model.was_opened() ? 1 : 0;
      diverged += model.diverged() ? 1 : 0;
      failed += failures.empty() ? 0 : 1;
      for (const std::string& failure : failures) {
        std::printf("%s\n", failure.c_str());
      }
      std::fflush(stdout);
      std::filesystem::remove_all(place);
    }
  };
  std::vector<std::thread> threads(jobs);
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  std::filesystem::remove_all(folder);
  const uint64_t models = last - first + 1;
  std::printf("%s\n",
              absl::StrCat(models, " models, ", failed, " failures; ", opened,
                           " were opened, ", diverged, " diverged, ", killed,
                           " were killed in time")
                  .c_str());
  const int output = FlushStandardOutput();
  return failed > 0 || opened + diverged < models ? 1 : output;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) {
  // Makes paths of programs relative to the runfiles, rather than to the
  // directory in which `bazel run` was started.
  unsetenv("BUILD_WORKING_DIRECTORY");
  return regard::Main(argc, argv);
}
