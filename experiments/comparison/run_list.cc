#include "experiments/comparison/run_list.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "evaluation/metric.h"
#include "evaluation/statistics.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "experiments/run/latest_run.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "nlohmann/json.hpp"
#include "options/name_suggestion.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr size_t kMaxMetrics = 2;  // per run, if the user names no metric

// Returns the fields in which a run differs from the typical run. Ignores
// annotations, such as `note`.
std::vector<FieldDifference> Differences(const ComparedRun& typical,
                                         const ComparedRun& run) {
  std::vector<FieldDifference> differences =
      DiffResolvedFields(typical.config, run.config);
  std::erase_if(differences, [](const FieldDifference& difference) {
    return IsAnnotation(difference.path);
  });
  return differences;
}

// Maximum number of characters in a list of differences.
constexpr size_t kMaxDifferenceText = 240;

// Returns the fields that the user set to values other than their defaults.
std::vector<ResolvedField> SetFields(const ComparedRun& run) {
  std::vector<ResolvedField> fields = run.config;
  std::erase_if(fields, [](const ResolvedField& field) {
    return field.origin == "default";
  });
  return fields;
}

// Returns the value of a field, or null if the config of the run lacks it.
const std::string* ValueOf(const ComparedRun& run, const std::string& path) {
  const auto found = std::ranges::find(run.config, path, &ResolvedField::path);
  return found == run.config.end() ? nullptr : &found->value;
}

// Returns the differences of a run as "PATH=VALUE  PATH=VALUE". Omits fields
// with default values if the typical run lacks their whole message.
std::string DifferencesText(const ComparedRun& typical,
                            const ComparedRun& run) {
  std::vector<std::string> texts;
  size_t size = 0;
  size_t left_out = 0;
  for (const FieldDifference& difference :
       DiffResolvedFields(SetFields(typical), SetFields(run))) {
    const std::string& path = difference.path;
    if (IsAnnotation(path)) continue;
    std::string after = difference.after;
    const std::string* const value = ValueOf(run, path);
    // Omits a field that one config sets explicitly to the default.
    if (value != nullptr && difference.before == "not set" &&
        ValueOf(typical, path) != nullptr &&
        *ValueOf(typical, path) == *value && *value != "{...}") {
      continue;
    }
    if (value != nullptr && after == "not set") {
      const std::string* const other = ValueOf(typical, path);
      if (other != nullptr && *other == *value) continue;
      after = *value;
    }
    std::string text = absl::StrCat(path, "=", after);
    if (size + text.size() > kMaxDifferenceText && size > 0) {
      ++left_out;
      continue;
    }
    if (text.size() > kMaxDifferenceText) {
      text.resize(kMaxDifferenceText);
      text += "...";
    }
    size += text.size();
    texts.push_back(std::move(text));
  }
  if (left_out > 0) texts.push_back(absl::StrCat("and ", left_out, " more"));
  return absl::StrJoin(texts, "  ");
}

// Returns the names of the first metrics on the test splits, in the order of
// their declaration. Includes named test splits ("test.news/bleu"). Without a
// test split, returns metrics on dev.
std::vector<std::string> KeyMetrics(const ComparedRun& run) {
  std::vector<std::string> keys;
  for (const std::vector<const char*>& prefixes :
       {std::vector{"test/", "test."}, std::vector{"dev/"}}) {
    size_t count = 0;
    for (const MetricInfo& info : run.metric_infos) {
      const size_t before = keys.size();
      for (const auto& [name, value] : run.status.metrics) {
        const bool is_of_split =
            std::ranges::any_of(prefixes, [&name = name](const char* prefix) {
              return absl::StartsWith(name, prefix);
            });
        if (is_of_split && FindMetric(run.metric_infos, name) == &info) {
          keys.push_back(name);
        }
      }
      if (keys.size() > before && ++count == kMaxMetrics) break;
    }
    if (!keys.empty()) break;
  }
  return keys;
}

// Returns a metric, or NaN if the run does not have it.
double MetricOf(const ComparedRun& run, const std::string& name) {
  const auto found = run.status.metrics.find(name);
  return found == run.status.metrics.end()
             ? std::numeric_limits<double>::quiet_NaN()
             : found->second;
}

// Adds the runs in the folder `name` below `top`, and in its subfolders.
// Returns an error if this folder cannot be read. If a subfolder cannot be
// read, adds it with the error.
absl::Status AddRuns(const std::string& top, const std::string& name,
                     FileOperations& files, std::vector<ComparedRun>* runs) {
  const std::string folder = name.empty() ? top : JoinPath(top, name);
  REGARD_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          ListDirectory(folder, files));
  const bool is_run = std::ranges::count(names, "resolved.textproto") > 0;
  std::vector<std::string> folders;
  std::vector<std::string> links;
  for (const std::string& child : names) {
    // Skips folders of a run that have many files but never contain runs.
    if (is_run && (child == "checkpoints" || child == "tensorboard")) continue;
    REGARD_ASSIGN_OR_RETURN(const PathKind kind,
                            KindOfPath(JoinPath(folder, child), files));
    if (kind == PathKind::kDirectory) folders.push_back(JoinPath(name, child));
    // Follows a link only if it points directly to a run. Other links may lead
    // to a parent folder or to a large tree. Skips the link to the latest run,
    // because the list contains this run anyway.
    if (kind == PathKind::kLink && child != kLatestRun &&
        PathExists(JoinPath(folder, child) + "/resolved.textproto")) {
      links.push_back(JoinPath(name, child));
    }
  }
  const auto add = [&](const std::string& label,
                       absl::StatusOr<ComparedRun> run) {
    if (!run.ok()) {
      run = ComparedRun{.missing = std::string(run.status().message())};
    }
    run->label = label;
    runs->push_back(*std::move(run));
  };
  if (is_run) add(name.empty() ? "." : name, ReadRunSummary(folder));
  for (const std::string& link : links) {
    add(link, ReadRunSummary(JoinPath(top, link)));
  }
  for (const std::string& child : folders) {
    const absl::Status added = AddRuns(top, child, files, runs);
    if (!added.ok()) add(child, added);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ComparedRun>> FindRuns(const std::string& folder,
                                                  FileOperations& files) {
  std::vector<ComparedRun> runs;
  REGARD_RETURN_IF_ERROR(EnsureErrorPrefix(AddRuns(folder, "", files, &runs)));
  if (runs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", folder,
        ": contains no run; name a directory that contains run folders"));
  }
  std::ranges::sort(runs, {}, &ComparedRun::label);
  return runs;
}

absl::Status SortByMetric(const std::string& metric,
                          std::vector<ComparedRun>* runs) {
  std::set<std::string> known;
  Better better = Better::kNeither;
  for (const ComparedRun& run : *runs) {
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
  const auto key = [&](const ComparedRun& run) {
    const double value = sign * MetricOf(run, metric);
    return std::pair(std::isnan(value), std::isnan(value) ? 0 : value);
  };
  std::ranges::stable_sort(*runs, {}, key);
  return absl::OkStatus();
}

absl::Status FilterByTag(const std::string& tag,
                         std::vector<ComparedRun>* runs) {
  std::set<std::string> known;
  const auto tags_of = [](const ComparedRun& run) {
    std::vector<std::string> tags;
    for (const ResolvedField& field : run.config) {
      if (field.path != "tags") continue;
      // Removes the quotes. A tag contains no escapes.
      absl::string_view tag = field.value;
      absl::ConsumePrefix(&tag, "\"");
      absl::ConsumeSuffix(&tag, "\"");
      tags.emplace_back(tag);
    }
    return tags;
  };
  for (const ComparedRun& run : *runs) {
    for (const std::string& of_run : tags_of(run)) known.insert(of_run);
  }
  if (known.count(tag) == 0) {
    const std::vector<std::string> names(known.begin(), known.end());
    return absl::InvalidArgumentError(absl::StrCat("error: --tag=", tag,
                                                   ": no run has this tag",
                                                   SuggestName(tag, names)));
  }
  std::erase_if(*runs, [&](const ComparedRun& run) {
    return std::ranges::count(tags_of(run), tag) == 0;
  });
  return absl::OkStatus();
}

size_t TypicalRun(const std::vector<ComparedRun>& runs) {
  std::vector<size_t> indices;
  std::vector<std::vector<ResolvedField>> configs;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].config.empty()) continue;
    indices.push_back(i);
    std::erase_if(
        configs.emplace_back(runs[i].config),
        [](const ResolvedField& field) { return IsAnnotation(field.path); });
  }
  if (indices.empty()) return 0;
  const std::vector<size_t> counts = CountDifferences(configs);
  return indices[std::ranges::min_element(counts) - counts.begin()];
}

std::string RunListText(const std::vector<ComparedRun>& runs,
                        const std::string& metric) {
  Table table = {{"run", "state", "step"}};
  std::vector<std::string> metrics;
  if (!metric.empty()) metrics.push_back(metric);
  for (const ComparedRun& run : runs) {
    for (const std::string& key : KeyMetrics(run)) {
      if (std::ranges::find(metrics, key) == metrics.end()) {
        metrics.push_back(key);
      }
    }
  }
  table.header.insert(table.header.end(), metrics.begin(), metrics.end());
  const ComparedRun& typical = runs[TypicalRun(runs)];
  table.header.push_back(
      runs.size() > 1 ? absl::StrCat("differences from ", typical.label) : "");
  for (const ComparedRun& run : runs) {
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
    row.push_back(DifferencesText(typical, run));
    table.rows.push_back(std::move(row));
  }
  return TableText(table, std::numeric_limits<int>::max(), "");
}

nlohmann::ordered_json RunListJson(const std::vector<ComparedRun>& runs) {
  const ComparedRun& typical = runs[TypicalRun(runs)];
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const ComparedRun& run : runs) {
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
