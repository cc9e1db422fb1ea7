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
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "experiments/report/attention_file.h"
#include "experiments/run/examples_file.h"
#include "experiments/run/run_description.h"
#include "experiments/run/status.h"
#include "files/file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::vector<GridCell> CellsOf(const Grid& grid) {
  std::vector<GridCell> cells;
  std::map<std::vector<size_t>, size_t> index;
  for (const GridRun& run : grid.runs) {
    const auto [place, is_new] = index.emplace(run.coordinates, cells.size());
    if (is_new) cells.push_back({run.coordinates, {}});
    cells[place->second].runs.push_back(&run);
  }
  return cells;
}

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

std::string CellName(const Grid& grid, const std::vector<size_t>& coordinates) {
  std::vector<std::string> names;
  for (size_t a = 0; a < coordinates.size(); ++a) {
    names.push_back(ValueName(grid.axes[a], coordinates[a]));
  }
  return absl::StrJoin(names, ", ");
}

std::vector<std::string> MetricsToShow(const Grid& grid) {
  if (!grid.metrics.empty()) return grid.metrics;
  std::set<std::string> all;
  for (const GridRun& run : grid.runs) {
    for (const auto& [name, value] : run.metrics) all.insert(name);
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

std::vector<double> ValuesOf(const GridCell& cell, const std::string& metric) {
  std::vector<double> values;
  for (const GridRun* run : cell.runs) {
    const auto found = run->metrics.find(metric);
    if (found != run->metrics.end()) values.push_back(found->second);
  }
  return values;
}

namespace {

using Json = nlohmann::json;

constexpr int64_t kMostBytes = int64_t{1} << 28;

// Members of JSON objects; remembers the first that is not as it should be.
class Reader {
 public:
  std::string Text(const Json& object, const char* key) {
    const Json* member = Member(object, key, Json::value_t::string);
    return member == nullptr ? "" : member->get<std::string>();
  }
  std::vector<std::string> Texts(const Json& object, const char* key) {
    std::vector<std::string> texts;
    for (const Json& element : List(object, key)) {
      if (!element.is_string()) {
        Fail(key);
      } else {
        texts.push_back(element.get<std::string>());
      }
    }
    return texts;
  }
  const Json& List(const Json& object, const char* key) {
    static const Json kEmpty = Json::array();
    const Json* member = Member(object, key, Json::value_t::array);
    return member == nullptr ? kEmpty : *member;
  }
  void Fail(absl::string_view what) {
    if (problem_.empty()) problem_ = std::string(what);
  }
  const std::string& problem() const { return problem_; }

 private:
  const Json* Member(const Json& object, const char* key, Json::value_t type) {
    if (object.is_object() && object.contains(key) &&
        object[key].type() == type) {
      return &object[key];
    }
    Fail(key);
    return nullptr;
  }

  std::string problem_;
};

// The index of the value that is called `label`.
std::optional<size_t> FindValue(const Axis& axis, const std::string& label) {
  for (size_t i = 0; i < axis.values.size(); ++i) {
    if (axis.values[i].label == label) return i;
  }
  return std::nullopt;
}

Axis ReadAxis(const Json& json, Reader& reader) {
  Axis axis;
  axis.name = reader.Text(json, "name");
  for (const Json& value : reader.List(json, "values")) {
    axis.values.push_back(
        {reader.Text(value, "label"), reader.Texts(value, "overrides")});
  }
  const std::optional<size_t> baseline =
      FindValue(axis, reader.Text(json, "baseline"));
  if (!baseline.has_value()) reader.Fail("baseline");
  axis.baseline = baseline.value_or(0);
  return axis;
}

// The metrics, log, config, weights and examples of a run that finished.
absl::Status ReadResults(const Json& json, const Aggregates& aggregates,
                         Reader& reader, Grid& grid, GridRun& run) {
  REGARD_ASSIGN_OR_RETURN(RunStatus status,
                          ReadStatus(reader.Text(json, "status")));
  if (status.state != RunState::kFinished) {
    return absl::FailedPreconditionError(
        absl::StrCat("is ", StateName(status.state)));
  }
  REGARD_ASSIGN_OR_RETURN(const std::string description,
                          ReadFile(reader.Text(json, "run"), kMostBytes));
  REGARD_ASSIGN_OR_RETURN(grid.metric_infos, ParseRunDescription(description));
  REGARD_ASSIGN_OR_RETURN(run.records,
                          ReadMetricsLog(reader.Text(json, "metrics")));
  REGARD_ASSIGN_OR_RETURN(const std::string config,
                          ReadFile(reader.Text(json, "resolved"), kMostBytes));
  REGARD_ASSIGN_OR_RETURN(run.config, ParseResolvedFields(config));
  REGARD_ASSIGN_OR_RETURN(const std::string attention,
                          ReadFile(reader.Text(json, "attention"), kMostBytes));
  REGARD_ASSIGN_OR_RETURN(run.maps, ParseAttentionJson(attention));
  REGARD_ASSIGN_OR_RETURN(
      run.sets, ReadExamples(reader.Text(json, "examples"), aggregates));
  run.metrics = std::move(status.metrics);
  return absl::OkStatus();
}

GridRun ReadRun(const Json& json, const Aggregates& aggregates, Grid& grid,
                Reader& reader) {
  GridRun run;
  run.label = reader.Text(json, "label");
  run.seed = reader.Text(json, "seed");
  const std::vector<std::string> labels = reader.Texts(json, "coordinates");
  if (labels.size() != grid.axes.size()) {
    reader.Fail("coordinates");
    return run;
  }
  for (size_t a = 0; a < labels.size(); ++a) {
    const std::optional<size_t> value = FindValue(grid.axes[a], labels[a]);
    if (!value.has_value()) reader.Fail("coordinates");
    run.coordinates.push_back(value.value_or(0));
  }
  const absl::StatusOr<std::string> failure =
      ReadFile(reader.Text(json, "failure"), kMostBytes);
  if (failure.ok() && !failure->empty()) {
    run.missing =
        absl::StrCat("failed: ", absl::StripAsciiWhitespace(*failure));
    return run;
  }
  const absl::Status results = ReadResults(json, aggregates, reader, grid, run);
  if (!results.ok()) run.missing = std::string(results.message());
  return run;
}

}  // namespace

absl::StatusOr<Grid> ReadGrid(const std::string& path,
                              const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  const Json json = Json::parse(text, /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  Reader reader;
  Grid grid;
  grid.label = reader.Text(json, "label");
  grid.name = reader.Text(json, "name");
  grid.question = reader.Text(json, "question");
  grid.metrics = reader.Texts(json, "metrics");
  for (const Json& axis : reader.List(json, "axes")) {
    grid.axes.push_back(ReadAxis(axis, reader));
  }
  std::set<std::pair<std::vector<size_t>, std::string>> seen;
  for (const Json& run : reader.List(json, "runs")) {
    grid.runs.push_back(ReadRun(run, aggregates, grid, reader));
    if (!seen.emplace(grid.runs.back().coordinates, grid.runs.back().seed)
             .second) {
      reader.Fail("runs");
    }
  }
  if (!reader.problem().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not the description of a grid: see \"",
                     reader.problem(), "\""));
  }
  return grid;
}

}  // namespace regard
