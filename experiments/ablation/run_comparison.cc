#include "experiments/ablation/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/run/file.h"
#include "experiments/run/run_description.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 26;
constexpr absl::string_view kMissing = "missing";

// One line of a listing: a name, padded, and what there is to say.
struct Line {
  std::string name;
  std::string text;
};

std::string Listing(const std::string& title, const std::vector<Line>& lines,
                    const std::string& if_none) {
  if (lines.empty()) return absl::StrCat(title, ": ", if_none, "\n");
  size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  std::string text = absl::StrCat(title, ":\n");
  for (const Line& line : lines) {
    absl::StrAppend(&text, "  ", line.name,
                    std::string(width - line.name.size(), ' '), "  ", line.text,
                    "\n");
  }
  return text;
}

std::string Arrow(const std::string& before, const std::string& after) {
  return absl::StrCat(before, " -> ", after);
}

std::string MetricText(const RunStatus& status, const std::string& name) {
  const auto metric = status.metrics.find(name);
  if (metric == status.metrics.end()) return std::string(kMissing);
  return absl::StrFormat("%.6g", metric->second);
}

// " (+0.5, +12.5 %)"; empty where there is no such number.
std::string Change(const RunStatus& before, const RunStatus& after,
                   const std::string& name) {
  const auto old_metric = before.metrics.find(name);
  const auto new_metric = after.metrics.find(name);
  if (old_metric == before.metrics.end() || new_metric == after.metrics.end()) {
    return "";
  }
  const double change = new_metric->second - old_metric->second;
  if (!std::isfinite(change)) return "";
  if (old_metric->second == 0) return absl::StrFormat("  (%+.4g)", change);
  return absl::StrFormat("  (%+.4g, %+.2f %%)", change,
                         100 * change / std::abs(old_metric->second));
}

std::string WeightsText(const std::string& before, const std::string& after) {
  if (before.empty() || after.empty()) return "not known";
  return before == after ? "the same bits" : "differ";
}

}  // namespace

absl::StatusOr<StoredRun> ReadStoredRun(const std::string& folder) {
  StoredRun run;
  REGARD_RETURN_IF_ERROR(ReadRunDescription(folder).status());
  const std::string path = JoinPath(folder, "resolved.textproto");
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
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

std::string RunComparisonText(const StoredRun& before, const StoredRun& after) {
  std::vector<Line> fields;
  for (const FieldDifference& difference :
       DiffResolvedFields(before.config, after.config)) {
    fields.push_back(
        {difference.path, Arrow(difference.before, difference.after)});
  }
  std::set<std::string> names;
  for (const StoredRun* run : {&before, &after}) {
    for (const auto& [name, value] : run->status.metrics) names.insert(name);
  }
  std::vector<Line> moved;
  std::vector<Line> same;
  for (const std::string& name : names) {
    const std::string ours = MetricText(before.status, name);
    const std::string theirs = MetricText(after.status, name);
    const auto old_metric = before.status.metrics.find(name);
    const auto new_metric = after.status.metrics.find(name);
    const bool equal = old_metric != before.status.metrics.end() &&
                       new_metric != after.status.metrics.end() &&
                       old_metric->second == new_metric->second;
    if (equal) {
      same.push_back({name, ours});
    } else {
      moved.push_back(
          {name, absl::StrCat(Arrow(ours, theirs),
                              Change(before.status, after.status, name))});
    }
  }
  std::string text = Listing("config", fields, "no field differs");
  if (before.status.state != after.status.state) {
    absl::StrAppend(&text, "state: ",
                    Arrow(std::string(StateName(before.status.state)),
                          std::string(StateName(after.status.state))),
                    "\n");
  }
  if (before.status.step != after.status.step) {
    absl::StrAppend(&text, "step: ",
                    Arrow(absl::StrCat(before.status.step),
                          absl::StrCat(after.status.step)),
                    "\n");
  }
  absl::StrAppend(&text, Listing("metrics that moved", moved, "none"));
  if (!same.empty()) text += Listing("metrics that are equal", same, "");
  return absl::StrCat(
      text, "weights: ",
      WeightsText(before.status.weights_digest, after.status.weights_digest),
      "\n");
}

}  // namespace regard
