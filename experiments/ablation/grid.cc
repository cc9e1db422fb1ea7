#include "experiments/ablation/grid.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/report/attention_file.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
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

std::vector<std::string> MetricsToShow(const Grid& grid) {
  if (!grid.metrics.empty()) return grid.metrics;
  std::set<std::string> all;
  for (const GridRun& run : grid.runs) {
    for (const auto& [name, value] : run.status.metrics) all.insert(name);
  }
  // "test/" and, of tests with a name, "test.news/".
  for (const char* prefix : {"test", "dev/", ""}) {
    std::vector<std::string> chosen;
    for (const std::string& name : all) {
      if (absl::StartsWith(name, prefix)) chosen.push_back(name);
    }
    if (!chosen.empty()) return chosen;
  }
  return {};
}

std::string Counted(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

absl::StatusOr<GridRun> ReadRun(const std::string& folder,
                                const Aggregates& aggregates) {
  GridRun run = {.label = folder};
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
  const std::string examples = JoinPath(folder, "examples.jsonl");
  if (PathExists(examples)) {
    REGARD_ASSIGN_OR_RETURN(run.sets, ReadExamples(examples, aggregates));
  }
  return run;
}

namespace {

using Json = nlohmann::json;

constexpr int64_t kMostBytes = int64_t{1} << 28;

constexpr char kShape[] =
    R"({"label": "", "name": "", "question": "", "metrics": [""],
        "axes": [{"name": "", "baseline": "",
                  "values": [{"label": "", "overrides": [""]}]}],
        "runs": [{"label": "", "seed": "", "coordinates": [""],
                  "folder": ""}]})";

using Texts = std::vector<std::string>;

// The index of the value that is called `label`, or the number of values.
size_t FindValue(const Axis& axis, const Json& label) {
  return std::find_if(
             axis.values.begin(), axis.values.end(),
             [&](const AxisValue& value) { return value.label == label; }) -
         axis.values.begin();
}

// A run that finished, with its log and weights.
absl::StatusOr<GridRun> ReadFinishedRun(const std::string& folder,
                                        const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(
      const std::string failure,
      ReadFile(JoinPath(folder, "failure.txt"), kMostBytes));
  if (!failure.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("failed: ", absl::StripAsciiWhitespace(failure)));
  }
  REGARD_ASSIGN_OR_RETURN(GridRun run, ReadRun(folder, aggregates));
  if (run.status.state != RunState::kFinished) {
    return absl::FailedPreconditionError(
        absl::StrCat("is ", StateName(run.status.state)));
  }
  REGARD_ASSIGN_OR_RETURN(run.records,
                          ReadMetricsLog(JoinPath(folder, "metrics.jsonl")));
  REGARD_ASSIGN_OR_RETURN(
      const std::string attention,
      ReadFile(JoinPath(folder, "attention.json"), kMostBytes));
  REGARD_ASSIGN_OR_RETURN(run.maps, ParseAttentionJson(attention));
  return run;
}

}  // namespace

absl::StatusOr<Grid> ReadGrid(const std::string& path,
                              const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  const Json json = Json::parse(text, /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  const auto wrong = [&](absl::string_view place) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is not the description of a grid: see \"", place, "\""));
  };
  const std::optional<std::string> misfit =
      FindMisfit(json, Json::parse(kShape));
  if (misfit.has_value()) return wrong(*misfit);
  Grid grid = {.label = json["label"].get<std::string>(),
               .name = json["name"].get<std::string>(),
               .question = json["question"].get<std::string>(),
               .metrics = json["metrics"].get<Texts>()};
  for (const Json& entry : json["axes"]) {
    Axis& axis = grid.axes.emplace_back();
    axis.name = entry["name"].get<std::string>();
    for (const Json& value : entry["values"]) {
      axis.values.push_back(
          {value["label"].get<std::string>(), value["overrides"].get<Texts>()});
    }
    axis.baseline = FindValue(axis, entry["baseline"]);
    if (axis.baseline == axis.values.size()) return wrong("baseline");
  }
  std::set<std::pair<std::vector<size_t>, std::string>> seen;
  for (const Json& entry : json["runs"]) {
    const Json& labels = entry["coordinates"];
    if (labels.size() != grid.axes.size()) return wrong("coordinates");
    std::vector<size_t> coordinates;
    for (size_t a = 0; a < labels.size(); ++a) {
      coordinates.push_back(FindValue(grid.axes[a], labels[a]));
      if (coordinates[a] == grid.axes[a].values.size()) {
        return wrong("coordinates");
      }
    }
    absl::StatusOr<GridRun> run =
        ReadFinishedRun(entry["folder"].get<std::string>(), aggregates);
    GridRun& added = grid.runs.emplace_back();
    if (run.ok()) {
      added = *std::move(run);
    } else {
      added.missing = std::string(run.status().message());
    }
    added.label = entry["label"].get<std::string>();
    added.seed = entry["seed"].get<std::string>();
    added.coordinates = std::move(coordinates);
    if (!seen.emplace(added.coordinates, added.seed).second) {
      return wrong("runs");
    }
  }
  return grid;
}

}  // namespace regard
