#include "experiments/training/prepared_task.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/trained_run.h"
#include "experiments/training/batch_plan.h"
#include "files/file.h"
#include "files/sha256.h"
#include "nn/parameters.h"
#include "nn/weights.h"
#include "optimization/interventions/site_requests.h"
#include "optimization/model.h"
#include "optimization/ranks/agreement.h"
#include "optimization/schedule.h"
#include "options/config_problems.h"
#include "options/reader.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Adds a note if the warm-up takes more optimizer steps than the run.
void NoteWarmup(const Experiment& config, const Plugins& plugins,
                Model<float>& model, ConfigProblems& problems) {
  const int64_t updates = BatchPlan(config, model).total_updates();
  const int64_t warmup =
      plugins.schedules.Create(config.optimizer().schedule(), {})->warmup();
  if (updates == 0 || warmup <= updates) return;
  problems.Note(
      "optimizer.schedule",
      absl::StrCat("its warm-up takes ", warmup,
                   " optimizer steps, but the run has only ", updates));
}

absl::StatusOr<PreparedTask> BuildAlone(const LoadedConfig& loaded,
                                        const std::string& run_folder,
                                        const Plugins& plugins) {
  ReadRunFile read_run_file;
  if (!run_folder.empty()) {
    read_run_file = [&run_folder](const std::string& name) {
      return EnsureErrorPrefix(ReadFile(JoinPath(run_folder, name)));
    };
  }
  REGARD_ASSIGN_OR_RETURN(std::unique_ptr<Task> task,
                          BuildTask(loaded.config, plugins, read_run_file));
  ConfigProblems problems;
  for (const std::string& note : loaded.notes) problems.Note("", note);
  ValidateTask(*task, loaded.config, problems);
  ValidateWatchedMetrics(*task, loaded.config, plugins, problems);
  if (problems.ok()) {
    REGARD_ASSIGN_OR_RETURN(
        const std::vector<std::string> notes,
        LoadInitialWeights(loaded.config.training(), plugins, *task, problems));
    for (const std::string& note : notes) {
      problems.Note("training.initial_weights", note);
    }
  }
  if (task->model().num_examples() == 0) {
    problems.Add("data", "has no example to train on");
  }
  if (problems.ok()) {
    ValidateSites({loaded.config.intervene(), loaded.config.probe()},
                  loaded.config.seed(), task->model(), problems);
  }
  for (int i = 0; i < loaded.config.intervene_size(); ++i) {
    if (!loaded.config.intervene(i).replace().has_mean()) continue;
    problems.Add(absl::StrCat("intervene[", i, "].replace.mean"),
                 "requires a trained model: use //tools:evaluate -- --set "
                 "intervene=...");
  }
  REGARD_RETURN_IF_ERROR(LocateProblems(problems, loaded.origins));
  NoteWarmup(loaded.config, plugins, task->model(), problems);
  for (const std::string& note : task->Notes()) problems.Note("", note);
  return PreparedTask{std::move(task),
                      {problems.notes().begin(), problems.notes().end()}};
}

// Returns everything that determines the bits of the results, by name.
absl::StatusOr<std::map<std::string, std::string>> FactsOf(
    const Experiment& config, Task& task) {
  std::map<std::string, std::string> facts;
  for (const auto& [name, digest] : task.data_digests()) {
    facts[absl::StrCat("bytes of ", name)] = absl::StrCat("SHA-256 ", digest);
  }
  for (const ResolvedField& field : ResolvedFields(config)) {
    std::string& values = facts[field.path];
    absl::StrAppend(&values, values.empty() ? "" : " ", field.value);
  }
  for (const auto& [name, text] : task.Files()) {
    facts[name] = absl::StrCat("SHA-256 ", Sha256Hex(text));
  }
  const ParameterStore<float>& parameters = task.model().parameters();
  facts["initial weights"] = absl::StrCat(
      "SHA-256 ",
      WeightsDigest(SlabViews(parameters, parameters.values(), "")));
  REGARD_ASSIGN_OR_RETURN(const RandomAccessFile program,
                          RandomAccessFile::Open("/proc/self/exe"));
  REGARD_ASSIGN_OR_RETURN(const std::string digest, Sha256OfFile(program));
  facts["program"] = absl::StrCat("SHA-256 ", digest);
  return facts;
}

}  // namespace

std::map<std::string, std::string> DataDigests(const Training& training,
                                               Task& task) {
  std::map<std::string, std::string> digests = task.data_digests();
  if (training.has_initial_weights()) {
    const ParameterStore<float>& parameters = task.model().parameters();
    digests["training.initial_weights"] =
        WeightsDigest(SlabViews(parameters, parameters.values(), ""));
  }
  return digests;
}

absl::StatusOr<PreparedTask> PrepareTask(const LoadedConfig& loaded,
                                         const std::string& run_folder,
                                         const Plugins& plugins, Ranks* ranks) {
  absl::StatusOr<PreparedTask> task = BuildAlone(loaded, run_folder, plugins);
  if (ranks == nullptr) return task;
  using Facts = absl::StatusOr<std::map<std::string, std::string>>;
  const Facts facts =
      task.ok() ? FactsOf(loaded.config, *task->task) : Facts(task.status());
  REGARD_RETURN_IF_ERROR(AgreeOn(ranks, facts.status()));
  REGARD_RETURN_IF_ERROR(
      CheckSameOnRanks(ranks, *facts, absl::StatusCode::kInvalidArgument));
  const int shards = loaded.config.num_shards();
  if (RanksFit(ranks->size(), shards)) return task;
  ConfigProblems problems;
  problems.Add("num_shards",
               absl::StrCat("is ", shards, ", but must be at least ",
                            ranks->size(), ", the number of ranks"));
  return LocateProblems(problems, loaded.origins);
}

}  // namespace regard
