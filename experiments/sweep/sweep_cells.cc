#include "experiments/sweep/sweep_cells.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/run/environment.h"
#include "experiments/run/status.h"
#include "experiments/sweep/cell_processes.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/command_line.h"
#include "options/config_text.h"
#include "options/name_suggestion.h"
#include "options/reader.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr size_t kMaxShown = 5;

// Collects the errors of several arms, and shows equal errors once. In a
// message, lines after the first begin with a space.
class ArmErrors {
 public:
  void Add(absl::string_view arm, absl::string_view message) {
    std::string error;
    for (const absl::string_view line : absl::StrSplit(message, '\n')) {
      if (!absl::StartsWith(line, " ") && !error.empty()) {
        AddOne(arm, std::exchange(error, ""));
      }
      absl::StrAppend(&error, error.empty() ? "" : "\n", line);
    }
    AddOne(arm, error);
  }

  absl::Status ToStatus() const {
    if (errors_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  }

 private:
  void AddOne(absl::string_view arm, const std::string& error) {
    if (!seen_.insert(error).second) return;
    errors_.push_back(absl::StrCat("arm ", arm, ":\n", error));
  }

  std::set<std::string> seen_;
  std::vector<std::string> errors_;
};

// Returns the overrides with which all runs begin. They remove the baseline of
// the config, because the sweep has its own comparisons.
absl::StatusOr<std::vector<ConfigTextWithOrigin>> FirstOverrides(
    const Sweep& sweep) {
  if (sweep.config().empty()) return std::vector<ConfigTextWithOrigin>();
  Experiment base;
  REGARD_RETURN_IF_ERROR(ReadConfig({sweep.config(), {}}, {}, &base).status());
  if (base.baseline().override_size() == 0) {
    return std::vector<ConfigTextWithOrigin>();
  }
  return std::vector{ConfigTextWithOrigin::Override("baseline.override=[]")};
}

ConfigTextWithOrigin SeedOverride(uint64_t seed) {
  return ConfigTextWithOrigin::Override(absl::StrCat("seed=", seed), "--seeds");
}

absl::Status LoadArms(const Sweep& sweep, const Plugins& plugins,
                      SweepCells& cells) {
  ArmErrors errors;
  for (const SweepArm& arm : cells.plan.arms) {
    std::vector<ConfigTextWithOrigin> overrides = arm.overrides;
    overrides.push_back(SeedOverride(sweep.first_seed()));
    absl::StatusOr<LoadedConfig> loaded =
        LoadConfigWith({sweep.config(), {}}, overrides, plugins);
    if (IsMachineFailure(loaded.status())) return loaded.status();
    if (!loaded.ok()) errors.Add(arm.name, loaded.status().message());
    cells.configs.push_back(loaded.ok() ? *std::move(loaded) : LoadedConfig());
  }
  return errors.ToStatus();
}

// Returns an error, before training, if no run can have the metric.
absl::Status CheckMetric(const std::string& metric, const std::string& where,
                         const Plugins& plugins, const SweepCells& cells) {
  if (absl::StartsWith(metric, "train/")) return absl::OkStatus();
  std::vector<std::string> known;
  for (const LoadedConfig& loaded : cells.configs) {
    const TaskInfo* const task = plugins.tasks.Find(loaded.config.model());
    for (const MetricInfo& info : task->metrics) {
      for (const char* split : {"test/", "dev/"}) {
        known.push_back(absl::StrCat(split, info.name));
      }
      const size_t slash = metric.find('/');
      if (slash != std::string::npos && metric.substr(slash + 1) == info.name) {
        return absl::OkStatus();
      }
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "error: ", where, "=", metric, ": the task has no such metric",
      SuggestName(metric, known)));
}

absl::Status CheckMetrics(const Sweep& sweep, const Plugins& plugins,
                          const SweepCells& cells) {
  if (!sweep.metric().empty()) {
    REGARD_RETURN_IF_ERROR(
        CheckMetric(sweep.metric(), "--metric", plugins, cells));
  }
  for (const std::string& metric : sweep.metrics()) {
    REGARD_RETURN_IF_ERROR(CheckMetric(metric, "metrics", plugins, cells));
  }
  return absl::OkStatus();
}

using Digests = std::map<std::string, std::string>;

// Checks the data of each arm, and returns their digests.
absl::StatusOr<std::vector<Digests>> DataOfArms(const CellFunctions& functions,
                                                int jobs,
                                                const SweepCells& cells) {
  const auto results = ComputeInChildren(
      cells.configs.size(), jobs,
      [&](size_t arm) -> absl::StatusOr<std::string> {
        REGARD_ASSIGN_OR_RETURN(const Digests digests,
                                functions.data_digests(cells.configs[arm]));
        return JsonText({{"data", nlohmann::ordered_json(digests)}});
      });
  ArmErrors errors;
  std::vector<Digests> data;
  for (size_t arm = 0; arm < results.size(); ++arm) {
    if (IsMachineFailure(results[arm].status())) return results[arm].status();
    if (!results[arm].ok()) {
      errors.Add(cells.plan.arms[arm].name, results[arm].status().message());
      continue;
    }
    REGARD_ASSIGN_OR_RETURN(JsonFile file,
                            JsonFile::Parse(*results[arm], "data digests"));
    data.push_back(file.root().Texts("data"));
  }
  REGARD_RETURN_IF_ERROR(errors.ToStatus());
  return data;
}

std::string DifferenceText(const CellKey& before, const CellKey& now) {
  std::vector<std::string> parts;
  if (before.config != now.config) parts.emplace_back("config");
  if (before.data != now.data) parts.emplace_back("data");
  if (before.program != now.program) parts.emplace_back("program");
  return absl::StrCat("was trained with another ", absl::StrJoin(parts, ", "));
}

absl::Status RefuseOthers(const SweepCells& cells) {
  std::vector<std::string> lines;
  size_t count = 0;
  for (const CellWithState& cell : cells.cells) {
    if (cell.state != SweepCellState::kOther) continue;
    if (++count <= kMaxShown) {
      lines.push_back(absl::StrCat(cell.folder, ": error: ", cell.reason));
    }
  }
  if (count == 0) return absl::OkStatus();
  if (count > kMaxShown) {
    lines.push_back(absl::StrCat("and ", count - kMaxShown, " more cells"));
  }
  lines.emplace_back(
      "use --replace to remove such cells and train them again, or name "
      "another directory with --out=DIR");
  return absl::InvalidArgumentError(absl::StrJoin(lines, "\n"));
}

absl::StatusOr<std::map<std::string, CellResult>> KnownCells(
    const SweepOptions& options) {
  std::map<std::string, CellResult> known;
  const auto add = [&](const std::string& path) -> absl::Status {
    REGARD_ASSIGN_OR_RETURN(const std::vector<CellResult> cells,
                            ReadCellResults(path));
    for (const CellResult& cell : cells) known.emplace(cell.key, cell);
    return absl::OkStatus();
  };
  const std::string own = JoinPath(options.out, "cells.jsonl");
  if (PathExists(own)) REGARD_RETURN_IF_ERROR(add(own));
  if (!options.cells.empty()) REGARD_RETURN_IF_ERROR(add(options.cells));
  return known;
}

}  // namespace

std::string SweepCells::Name(const CellWithState& cell) const {
  return absl::StrCat(plan.arms[cell.arm].name, "/seed-", cell.seed);
}

std::vector<std::string> SweepCells::TrainArguments(const CellWithState& cell,
                                                    const Sweep& sweep,
                                                    int threads) const {
  std::vector<std::string> arguments = {
      absl::StrCat("--config=", sweep.config()),
      absl::StrCat("--run=", cell.folder), "--resume",
      absl::StrCat("--threads=", threads)};
  for (const ConfigTextWithOrigin& text : plan.arms[cell.arm].overrides) {
    arguments.insert(arguments.end(), {"--set", text.text()});
  }
  arguments.insert(arguments.end(), {"--set", SeedOverride(cell.seed).text()});
  return arguments;
}

void UpdateCellState(const std::map<std::string, CellResult>& known,
                     CellWithState& cell) {
  cell.state = SweepCellState::kWaiting;
  cell.reason.clear();
  const bool has_record = PathExists(cell.RecordPath());
  if (has_record || PathExists(cell.folder)) {
    const absl::StatusOr<CellTrainingRecord> record =
        ReadCellTrainingRecord(cell.RecordPath());
    if (record.ok()) cell.record = *record;
    if (!record.ok()) {
      cell.state = SweepCellState::kOther;
      cell.reason = has_record ? std::string(record.status().message())
                               : "was not trained by regard sweep";
    } else if (cell.record.key != cell.key) {
      cell.state = SweepCellState::kOther;
      cell.reason = DifferenceText(cell.record.key, cell.key);
      cell.record = {};
    } else {
      const absl::StatusOr<RunStatus> status =
          ReadStatus(JoinPath(cell.folder, "status.json"));
      if (status.ok() && status->state == RunState::kFinished) {
        cell.state = SweepCellState::kFinished;
        return;
      }
      // Does not repeat a run that diverged, because it would diverge again.
      // Other failures may be temporary.
      if (cell.record.exit_code == kExitDiverged) {
        cell.state = SweepCellState::kFailed;
        cell.reason = cell.record.failure;
      }
    }
  }
  const auto found = known.find(cell.key.Digest());
  if (found == known.end()) return;
  cell.state = SweepCellState::kRecorded;
  cell.finished = found->second;
}

absl::StatusOr<SweepCells> CheckSweep(const SweepWithOrigins& source, int jobs,
                                      const CellFunctions& functions,
                                      const Plugins& plugins) {
  const Sweep& sweep = source.sweep;
  SweepCells cells;
  REGARD_ASSIGN_OR_RETURN(std::vector<ConfigTextWithOrigin> first,
                          FirstOverrides(sweep));
  REGARD_ASSIGN_OR_RETURN(cells.plan, ExpandSweep(source, std::move(first)));
  REGARD_RETURN_IF_ERROR(LoadArms(sweep, plugins, cells));
  REGARD_RETURN_IF_ERROR(CheckMetrics(sweep, plugins, cells));
  REGARD_ASSIGN_OR_RETURN(const std::vector<Digests> data,
                          DataOfArms(functions, jobs, cells));
  const std::string level = BuildEnvironment().instruction_set;
  for (const auto& [arm, seed] : cells.plan.cells) {
    Experiment config = cells.configs[arm].config;
    config.set_seed(seed);
    CellWithState& cell = cells.cells.emplace_back();
    cell.arm = arm;
    cell.seed = seed;
    cell.key = MakeCellKey(config, data[arm], level, plugins.compute_digest);
  }
  return cells;
}

absl::StatusOr<SweepCells> PlanSweep(const SweepWithOrigins& source,
                                     const SweepOptions& options,
                                     const CellFunctions& functions,
                                     const Plugins& plugins) {
  REGARD_ASSIGN_OR_RETURN(SweepCells cells,
                          CheckSweep(source, options.jobs, functions, plugins));
  REGARD_ASSIGN_OR_RETURN(const auto known, KnownCells(options));
  for (CellWithState& cell : cells.cells) {
    cell.folder =
        JoinPath(options.out, absl::StrCat("cells/", cells.Name(cell)));
    UpdateCellState(known, cell);
  }
  if (!options.replace && !options.collect) {
    REGARD_RETURN_IF_ERROR(RefuseOthers(cells));
  }
  return cells;
}

}  // namespace regard
