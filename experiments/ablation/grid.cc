#include "experiments/ablation/grid.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/report/attention_file.h"
#include "experiments/run/environment.h"
#include "experiments/run/examples_file.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "options/name_suggestion.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::string ValueName(const Axis& axis, size_t value) {
  const std::string& label = axis.values[value].label;
  double number = 0;
  bool truth = false;
  if (!absl::SimpleAtod(label, &number) && !absl::SimpleAtob(label, &truth)) {
    return label;
  }
  const size_t dot = axis.name.rfind('.');
  const size_t last = dot == std::string::npos ? 0 : dot + 1;
  return absl::StrCat(axis.name.substr(last), " ", label);
}

std::string CellName(const ResultGrid& grid, const ComparedRun& run) {
  std::vector<std::string> names;
  for (size_t a = 0; a < grid.axes.size(); ++a) {
    names.push_back(ValueName(grid.axes[a], run.coordinates[a]));
  }
  return absl::StrJoin(names, ", ");
}

std::set<std::string> AllMetrics(const ResultGrid& grid) {
  std::set<std::string> all;
  for (const ComparedRun& run : grid.runs) {
    for (const auto& [name, value] : run.status.metrics) all.insert(name);
  }
  return all;
}

std::vector<std::string> MetricsToShow(const ResultGrid& grid) {
  if (!grid.metrics.empty()) return grid.metrics;
  const std::set<std::string> all = AllMetrics(grid);
  // "test" matches "test/" and named test splits, such as "test.news/".
  for (const char* prefix : {"test", "dev/", ""}) {
    std::vector<std::string> chosen;
    for (const std::string& name : all) {
      if (absl::StartsWith(name, prefix)) chosen.push_back(name);
    }
    if (chosen.empty()) continue;
    if (!grid.primary.empty() &&
        std::ranges::count(chosen, grid.primary) == 0) {
      chosen.insert(chosen.begin(), grid.primary);
    }
    return chosen;
  }
  return {};
}

std::string PrimaryMetric(const ResultGrid& grid) {
  if (!grid.primary.empty()) return grid.primary;
  const std::vector<std::string> shown = MetricsToShow(grid);
  if (shown.empty() || !grid.metrics.empty()) {
    return shown.empty() ? "" : shown[0];
  }
  for (const ComparedRun& run : grid.runs) {
    for (const MetricInfo& info : run.metric_infos) {
      for (const std::string& name : shown) {
        if (FindMetric(run.metric_infos, name) == &info) return name;
      }
    }
  }
  return shown[0];
}

Better DirectionOf(const ResultGrid& grid, const std::string& metric) {
  for (const ComparedRun& run : grid.runs) {
    const MetricInfo* const info = FindMetric(run.metric_infos, metric);
    if (info != nullptr && info->better != Better::kNeither) {
      return info->better;
    }
  }
  return Better::kNeither;
}

std::string UnfinishedText(const RunStatus& status) {
  if (status.state == RunState::kFinished) return "";
  return absl::StrCat(StateName(status.state), " at step ", status.step);
}

std::string Pluralize(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

bool IsAnnotation(absl::string_view path) {
  return path == "name" || path == "note" || path == "tags";
}

absl::StatusOr<ComparedRun> ReadRunSummary(const std::string& folder) {
  ComparedRun run = {.label = folder};
  REGARD_ASSIGN_OR_RETURN(run.metric_infos, ReadRunDescription(folder));
  const std::string path = JoinPath(folder, "resolved.textproto");
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  absl::StatusOr<std::vector<ResolvedField>> config = ParseResolvedFields(text);
  if (!config.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", config.status().message()));
  }
  run.config = *std::move(config);
  REGARD_ASSIGN_OR_RETURN(run.status,
                          ReadStatus(JoinPath(folder, "status.json")));
  return run;
}

absl::StatusOr<ComparedRun> ReadRun(const std::string& folder,
                                    const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(ComparedRun run, ReadRunSummary(folder));
  const std::string examples = JoinPath(folder, "examples.jsonl");
  if (PathExists(examples)) {
    REGARD_ASSIGN_OR_RETURN(run.sets, ReadExamples(examples, aggregates));
  }
  return run;
}

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 28;

}  // namespace

absl::StatusOr<ComparedRun> ReadFinishedRun(const std::string& folder,
                                            const Aggregates& aggregates) {
  const std::string path = JoinPath(folder, "failure.txt");
  if (PathExists(path)) {
    REGARD_ASSIGN_OR_RETURN(const std::string failure,
                            ReadFile(path, kMaxBytes));
    if (!failure.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("failed: ", absl::StripAsciiWhitespace(failure)));
    }
  }
  REGARD_ASSIGN_OR_RETURN(ComparedRun run, ReadRun(folder, aggregates));
  if (const std::string unfinished = UnfinishedText(run.status);
      !unfinished.empty()) {
    return absl::FailedPreconditionError(unfinished);
  }
  REGARD_ASSIGN_OR_RETURN(run.records,
                          ReadMetricsLog(JoinPath(folder, "metrics.jsonl")));
  REGARD_ASSIGN_OR_RETURN(
      const std::string attention,
      ReadFile(JoinPath(folder, "attention.json"), kMaxBytes));
  REGARD_ASSIGN_OR_RETURN(run.maps, ParseAttentionJson(attention));
  // Ignores errors, because the report does not require the digests.
  const absl::StatusOr<Environment> environment = ReadRunDigests(folder);
  if (environment.ok()) run.data = environment->data;
  return run;
}

}  // namespace regard
