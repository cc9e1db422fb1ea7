#include "tools/run_list.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/config/resolved.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/metric.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "nn/name_suggestion.h"
#include "nn/statistics.h"

namespace regard {
namespace {

constexpr size_t kMostMetrics = 2;  // of a run, where none is asked for

// What a run differs in, without what names it.
std::vector<FieldDifference> Differences(const GridRun& typical,
                                         const GridRun& run) {
  std::vector<FieldDifference> differences =
      DiffResolvedFields(typical.config, run.config);
  std::erase_if(differences, [](const FieldDifference& difference) {
    return difference.path == "name";
  });
  return differences;
}

// The first ones of test, else of dev, in the order of their declaration.
std::vector<std::string> KeyMetrics(const GridRun& run) {
  std::vector<std::string> keys;
  for (const char* split : {"test/", "dev/"}) {
    for (const MetricInfo& info : run.metric_infos) {
      const std::string name = absl::StrCat(split, info.name);
      if (keys.size() < kMostMetrics && run.status.metrics.count(name) > 0) {
        keys.push_back(name);
      }
    }
    if (!keys.empty()) break;
  }
  return keys;
}

// NaN where there is none.
double MetricOf(const GridRun& run, const std::string& name) {
  const auto found = run.status.metrics.find(name);
  return found == run.status.metrics.end()
             ? std::numeric_limits<double>::quiet_NaN()
             : found->second;
}

}  // namespace

absl::StatusOr<std::vector<GridRun>> FindRuns(const std::string& folder,
                                              const Aggregates& aggregates) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> paths;
  const auto add = [&](const fs::path& path) {
    if (!fs::exists(path / "resolved.textproto", error)) return;
    const fs::path name = path.lexically_relative(folder);
    paths.push_back(name.string());
  };
  add(folder);
  fs::recursive_directory_iterator entry(
      folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    if (!entry->is_directory(error) || entry->is_symlink(error)) continue;
    add(entry->path());
    const std::string name = entry->path().filename().string();
    if (name == "checkpoints" || name == "tensorboard") {
      entry.disable_recursion_pending();
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", folder, ": ", error.message()));
  }
  if (paths.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: ", folder, ": no run there, and none below"));
  }
  std::sort(paths.begin(), paths.end());
  std::vector<GridRun> runs;
  for (const std::string& path : paths) {
    absl::StatusOr<GridRun> run = ReadRun(JoinPath(folder, path), aggregates);
    if (!run.ok()) {
      run = GridRun{.missing = std::string(run.status().message())};
    }
    run->label = path;
    runs.push_back(*std::move(run));
  }
  return runs;
}

absl::Status SortByMetric(const std::string& metric,
                          std::vector<GridRun>* runs) {
  std::set<std::string> known;
  Better better = Better::kNeither;
  for (const GridRun& run : *runs) {
    for (const auto& [name, value] : run.status.metrics) known.insert(name);
    const MetricInfo* const info = FindMetric(run.metric_infos, metric);
    if (info != nullptr) better = info->better;
  }
  if (known.count(metric) == 0) {
    const std::vector<std::string> names(known.begin(), known.end());
    return absl::InvalidArgumentError(absl::StrCat("error: --by=", metric,
                                                   ": no run has this metric",
                                                   SuggestName(metric, names)));
  }
  const double sign = better == Better::kHigher ? -1 : 1;
  const auto key = [&](const GridRun& run) {
    const double value = sign * MetricOf(run, metric);
    return std::pair(std::isnan(value), std::isnan(value) ? 0 : value);
  };
  std::ranges::stable_sort(*runs, {}, key);
  return absl::OkStatus();
}

size_t TypicalRun(const std::vector<GridRun>& runs) {
  size_t best = 0;
  size_t fewest = std::numeric_limits<size_t>::max();
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].config.empty()) continue;
    size_t count = 0;
    for (const GridRun& run : runs) {
      if (!run.config.empty()) count += Differences(runs[i], run).size();
    }
    if (count >= fewest) continue;
    fewest = count;
    best = i;
  }
  return best;
}

std::string RunListText(const std::vector<GridRun>& runs,
                        const std::string& metric) {
  Table table = {{"run", "state", "step"}};
  std::vector<std::string> metrics;
  if (!metric.empty()) metrics.push_back(metric);
  for (const GridRun& run : runs) {
    for (const std::string& key : KeyMetrics(run)) {
      if (std::ranges::find(metrics, key) == metrics.end()) {
        metrics.push_back(key);
      }
    }
  }
  table.header.insert(table.header.end(), metrics.begin(), metrics.end());
  const GridRun& typical = runs[TypicalRun(runs)];
  table.header.push_back(
      runs.size() > 1 ? absl::StrCat("unlike ", typical.label) : "");
  for (const GridRun& run : runs) {
    if (!run.missing.empty()) {
      std::vector<std::string>& row =
          table.rows.emplace_back(table.header.size());
      row.front() = run.label;
      row[1] = "unreadable";
      row.back() = PrintableText(run.missing);
      continue;
    }
    std::vector<std::string> row = {run.label,
                                    std::string(StateName(run.status.state)),
                                    absl::StrCat(run.status.step)};
    for (const std::string& name : metrics) {
      row.push_back(run.status.metrics.count(name) == 0
                        ? "-"
                        : FormatMetric(MetricOf(run, name)));
    }
    row.push_back(absl::StrJoin(
        Differences(typical, run), "  ",
        [](std::string* out, const FieldDifference& difference) {
          absl::StrAppend(out, difference.path, "=", difference.after);
        }));
    table.rows.push_back(std::move(row));
  }
  return TableText(table, std::numeric_limits<int>::max(), "");
}

nlohmann::ordered_json RunListJson(const std::vector<GridRun>& runs) {
  const GridRun& typical = runs[TypicalRun(runs)];
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const GridRun& run : runs) {
    nlohmann::ordered_json& entry = list.emplace_back();
    entry["run"] = run.label;
    if (!run.missing.empty()) {
      entry["unreadable"] = run.missing;
      continue;
    }
    entry["state"] = StateName(run.status.state);
    entry["step"] = run.status.step;
    std::map<std::string, std::string> differences;
    for (const FieldDifference& difference : Differences(typical, run)) {
      differences[difference.path] = difference.after;
    }
    entry["differences"] = differences;
    entry["metrics"] = run.status.metrics;
    entry["weights_digest"] = run.status.weights_digest;
  }
  return {{"typical", typical.label}, {"runs", std::move(list)}};
}

}  // namespace regard
