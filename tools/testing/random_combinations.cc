// Trains experiments with random options for two optimizer steps, and again
// from the checkpoint after the first step. Start it with
//
//   bazel run //tools:random_combinations -- --seeds=1-20000
//
// Prints how many experiments were bit-identical, and how many were rejected,
// by reason. Every rejection must state the position in the config. Any other
// result, such as different bits or a crash, is a failure. Prints the seed and
// the config of each failure, and exits with 1 if there is one. With one seed,
// prints the config and its result.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/experiment.pb.h"
#include "experiments/run/checkpoint.h"
#include "experiments/tasks/built_in_plugins.h"
#include "experiments/tasks/experiment_config.h"
#include "experiments/tasks/plugins.h"
#include "experiments/testing/random_combination.h"
#include "experiments/training/prepared_task.h"
#include "experiments/training/trainer.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "google/protobuf/text_format.h"
#include "options/command_line.h"

namespace regard {
namespace {

constexpr char kUsage[] =
    "Trains two updates of random combinations of options, and resumes.\n\n"
    "  random_combinations --seeds=A-B\n\n"
    "Examples:\n"
    "  random_combinations --seeds=1-20000\n"
    "  random_combinations --seeds=7-7";

constexpr char kConfigName[] = "config.textproto";

// Does not sync, because no test cuts the power.
class UnsyncedFiles : public FileOperations {
 public:
  int Sync(int /*descriptor*/) override { return 0; }
};

// The result of one experiment.
struct Outcome {
  enum Kind { kTrained = 't', kRefused = 'r', kFailed = 'f' };
  Kind kind;
  std::string text;  // complete message
};

Outcome Refused(const absl::Status& status) {
  static const std::regex* const kPlaced = new std::regex(
      absl::StrCat(kConfigName, ":[1-9][0-9]*:[1-9][0-9]*: error: .+"));
  const std::string message(status.message());
  const std::string first = message.substr(0, message.find('\n'));
  const bool placed = std::regex_match(first, *kPlaced);
  return {placed ? Outcome::kRefused : Outcome::kFailed, message};
}

// Returns everything that a checkpoint stores.
std::string BytesOf(const CheckpointContent& content) {
  std::string bytes = absl::StrCat(content.step, "\n", content.state);
  for (const std::vector<NamedTensorView>* tensors :
       {&content.weights, &content.optimizer, &content.best}) {
    for (const NamedTensorView& tensor : *tensors) {
      absl::StrAppend(
          &bytes, tensor.name, "\n",
          absl::string_view(reinterpret_cast<const char*>(tensor.values.data()),
                            tensor.values.size() * sizeof(float)));
    }
  }
  return bytes;
}

// Trains from a checkpoint, or from the beginning if it is null. Saves the
// checkpoint after the first step in `folder`. Returns the bytes of the last
// checkpoint.
absl::StatusOr<std::string> Train(const LoadedConfig& loaded,
                                  const Plugins& plugins,
                                  const std::string& folder,
                                  const CheckpointInfo* checkpoint,
                                  PreparedTask fitting) {
  Trainer trainer(loaded.config, *fitting.task, plugins, {.omit_times = true});
  if (checkpoint != nullptr) {
    const absl::Status restored = trainer.Restore(*checkpoint);
    if (!restored.ok()) return restored;
  }
  UnsyncedFiles files;
  std::string last;
  const absl::StatusOr<int> end = trainer.Run(
      {.checkpointed = [&](const CheckpointContent& content) -> absl::Status {
        last = BytesOf(content);
        if (content.step != 1) return absl::OkStatus();
        return SaveCheckpoint(folder, content, 1, files);
      }});
  if (!end.ok()) return end.status();
  return last;
}

Outcome Exercise(const std::string& config, const std::string& folder,
                 const Plugins& plugins) {
  const auto failed = [](absl::string_view what, const absl::Status& status) {
    return Outcome{Outcome::kFailed,
                   absl::StrCat(what, ": ", std::string(status.message()))};
  };
  const absl::StatusOr<LoadedConfig> loaded =
      LoadConfig({kConfigName, config}, {}, plugins);
  if (!loaded.ok()) return Refused(loaded.status());
  absl::StatusOr<PreparedTask> fitting =
      PrepareTask(*loaded, "", plugins, nullptr);
  if (!fitting.ok()) return Refused(fitting.status());
  const bool learns = !fitting->task->model().parameters().values().empty();
  const absl::StatusOr<std::string> whole =
      Train(*loaded, plugins, folder, nullptr, *std::move(fitting));
  if (!whole.ok()) return failed("training", whole.status());
  // A model without parameters makes no optimizer steps.
  if (!learns) return {Outcome::kTrained, ""};
  const absl::StatusOr<FoundCheckpoints> found = FindCheckpoints(folder);
  if (!found.ok()) return failed("checkpoints", found.status());
  if (found->checkpoints.empty() || found->checkpoints[0].step != 1) {
    return {Outcome::kFailed, "no checkpoint of step 1"};
  }
  fitting = PrepareTask(*loaded, "", plugins, nullptr);
  if (!fitting.ok()) return failed("building again", fitting.status());
  const absl::StatusOr<std::string> resumed = Train(
      *loaded, plugins, folder, &found->checkpoints[0], *std::move(fitting));
  if (!resumed.ok()) return failed("resuming", resumed.status());
  if (*whole != *resumed) {
    return {Outcome::kFailed, "other bits after resuming"};
  }
  return {Outcome::kTrained, ""};
}

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Runs `exercise` in a child process, because it may crash or not end.
Outcome InAProcess(const std::string& folder,
                   absl::FunctionRef<Outcome()> exercise) {
  const std::string result = folder + "/outcome";
  const std::string errors = folder + "/errors";
  std::fflush(nullptr);
  const pid_t process = fork();
  if (process == 0) {
    alarm(60);
    if (std::freopen(errors.c_str(), "w", stderr) == nullptr) _exit(1);
    const Outcome outcome = exercise();
    std::ofstream(result) << static_cast<char>(outcome.kind) << outcome.text;
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  if (process < 0 || waitpid(process, &status, 0) != process) {
    return {Outcome::kFailed, "no process"};
  }
  const std::string text = ReadAll(result);
  if (status == 0 && !text.empty()) {
    return {static_cast<Outcome::Kind>(text[0]), text.substr(1)};
  }
  return {Outcome::kFailed, absl::StrCat("the process ended with status ",
                                         status, ": ", ReadAll(errors))};
}

// Returns the first problem of a rejection, without its position, its numbers
// and the names of the messages that enclose its field.
std::string KindOf(const std::string& refusal) {
  static const auto* const kPlace = new std::regex("^[^ ]*: error: ");
  static const auto* const kOuter =
      new std::regex("\\b[a-z_0-9]+(\\[[0-9]+\\])?\\.(?=[a-z_])");
  static const auto* const kNumber =
      new std::regex("(^|[^A-Za-z_0-9])-?[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?\\b");
  std::string kind = refusal.substr(0, refusal.find('\n'));
  kind = std::regex_replace(kind, *kPlace, "");
  kind = std::regex_replace(kind, *kOuter, "");
  return std::regex_replace(kind, *kNumber, "$1N");
}

struct Refusals {
  int64_t count = 0;
  uint64_t first_seed = 0;
};

void PrintCounts(const std::map<std::string, Refusals>& kinds) {
  std::vector<std::pair<std::string, Refusals>> sorted(kinds.begin(),
                                                       kinds.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return a.second.count > b.second.count;
  });
  for (const auto& [kind, refusals] : sorted) {
    std::printf("%s\n", absl::StrCat(refusals.count, "  ", kind, "  (seed ",
                                     refusals.first_seed, ")")
                            .c_str());
  }
}

// Runs the program, and returns its exit code.
int Main(int argc, char** argv) {
  std::string seeds;
  CommandLine line(kUsage);
  line.Text("seeds", "A-B", &seeds, "first and last seed of the experiments");
  absl::Status parsed = line.Parse(argc, argv);
  const std::pair<std::string, std::string> range =
      absl::StrSplit(seeds, absl::MaxSplits('-', 1));
  uint64_t first = 0;
  uint64_t last = 0;
  if (parsed.ok() && (!absl::SimpleAtoi(range.first, &first) ||
                      !absl::SimpleAtoi(range.second, &last) || last < first)) {
    parsed = absl::InvalidArgumentError(
        "error: --seeds=A-B must be a range, such as 1-20000");
  }
  if (!parsed.ok()) return ExitCode(parsed);

  std::string folder =
      absl::StrCat(std::filesystem::temp_directory_path().string(),
                   "/random_combinations.XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  const Plugins plugins = BuiltInPlugins();
  std::map<std::string, Refusals> kinds;
  uint64_t trained = 0;
  uint64_t refused = 0;
  uint64_t failed = 0;
  for (uint64_t seed = first; seed <= last; ++seed) {
    std::string config;
    google::protobuf::TextFormat::PrintToString(
        testing::RandomCombination(seed), &config);
    const std::string place = absl::StrCat(folder, "/", seed);
    std::filesystem::create_directories(place);
    const Outcome outcome =
        InAProcess(place, [&] { return Exercise(config, place, plugins); });
    std::filesystem::remove_all(place);
    if (outcome.kind == Outcome::kTrained) {
      ++trained;
    } else if (outcome.kind == Outcome::kRefused) {
      ++refused;
      Refusals& refusals = kinds[KindOf(outcome.text)];
      if (refusals.count++ == 0) refusals.first_seed = seed;
    } else {
      ++failed;
    }
    if (outcome.kind == Outcome::kFailed || first == last) {
      std::printf("seed %s: %s\n%s\n", absl::StrCat(seed).c_str(),
                  outcome.text.c_str(), config.c_str());
      std::fflush(stdout);
    }
  }
  std::filesystem::remove_all(folder);
  PrintCounts(kinds);
  std::printf("%s\n", absl::StrCat(last - first + 1, " experiments: ", trained,
                                   " trained and resumed with the same bits, ",
                                   refused, " refused, ", failed, " failed")
                          .c_str());
  const int output = FlushStandardOutput();
  // Fails if all experiments were trained or all were rejected, because such
  // options would test nothing.
  const bool both = trained > 0 && refused > 0;
  return failed > 0 || (last - first >= 99 && !both) ? 1 : output;
}

}  // namespace
}  // namespace regard

int main(int argc, char** argv) { return regard::Main(argc, argv); }
