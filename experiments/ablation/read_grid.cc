#include "experiments/ablation/read_grid.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/ablation/stored_status.h"
#include "experiments/report/attention_file.h"
#include "experiments/run/file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
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

// The metrics, log, config and weights of a run that finished.
absl::Status ReadResults(const Json& json, Reader& reader, GridRun& run) {
  REGARD_ASSIGN_OR_RETURN(StoredStatus status,
                          ReadStatus(reader.Text(json, "status")));
  if (status.state != "finished") {
    return absl::FailedPreconditionError(absl::StrCat("is ", status.state));
  }
  REGARD_ASSIGN_OR_RETURN(run.records,
                          ReadMetricsLog(reader.Text(json, "metrics")));
  REGARD_ASSIGN_OR_RETURN(const std::string config,
                          ReadFile(reader.Text(json, "resolved"), kMostBytes));
  REGARD_ASSIGN_OR_RETURN(run.config, ParseResolvedFields(config));
  REGARD_ASSIGN_OR_RETURN(const std::string attention,
                          ReadFile(reader.Text(json, "attention"), kMostBytes));
  REGARD_ASSIGN_OR_RETURN(run.maps, ParseAttentionJson(attention));
  run.metrics = std::move(status.metrics);
  return absl::OkStatus();
}

GridRun ReadRun(const Json& json, const Grid& grid, Reader& reader) {
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
  const absl::Status results = ReadResults(json, reader, run);
  if (!results.ok()) run.missing = std::string(results.message());
  return run;
}

}  // namespace

absl::StatusOr<Grid> ReadGrid(const std::string& path) {
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
    grid.runs.push_back(ReadRun(run, grid, reader));
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
