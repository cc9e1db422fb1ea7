#include "experiments/tasks/regression/training_points.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/column_scale.h"
#include "experiments/run/environment.h"
#include "files/file.h"
#include "files/json_file.h"
#include "files/sha256.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr size_t kMaxBytes = size_t{60} << 20;
constexpr char kAnotherModel[] =
    "a regression model contains its training points; use the original data, "
    "or train again";

std::string JsonOf(const RegressionData& data) {
  nlohmann::ordered_json json = {{"columns", data.x_names},
                                 {"target", data.y_name}};
  // Means and standard deviations of the columns, with the target last.
  if (!data.x_scales.empty()) {
    std::vector<ColumnScale> scales = data.x_scales;
    scales.push_back(data.y_scale);
    for (const ColumnScale& scale : scales) {
      json["means"].push_back(scale.mean);
      json["deviations"].push_back(scale.deviation);
    }
  }
  json["x"] = data.training.x;
  json["y"] = data.training.y;
  return absl::StrCat(JsonText(json), "\n");
}

std::vector<double> Numbers(const JsonObject& object, const std::string& key) {
  std::vector<double> numbers;
  for (const nlohmann::json& number : object.Array(key)) {
    if (!number.is_number() || !std::isfinite(number.get<double>())) {
      object.AddProblem(key, "must be finite numbers");
      return {};
    }
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

absl::StatusOr<RegressionData> Parse(const std::string& text,
                                     const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file,
                          JsonFile::Parse(text, path, /*line=*/1, text.size()));
  const JsonObject json = file.root();
  RegressionData data;
  data.x_names = json.TextList("columns");
  data.y_name = json.Text("target");
  const size_t width = data.x_names.size();
  data.training.width = static_cast<int64_t>(width);
  data.training.x = Numbers(json, "x");
  data.training.y = Numbers(json, "y");
  if (width == 0 || data.training.y.empty() ||
      data.training.x.size() != width * data.training.y.size()) {
    json.AddProblem("x", "must have a number for each column and each y");
  }
  if (json.Has("means")) {
    const std::vector<double> means = Numbers(json, "means");
    const std::vector<double> deviations = Numbers(json, "deviations");
    if (means.size() != width + 1 || deviations.size() != width + 1) {
      json.AddProblem("means",
                      "must have a number for each column and the target");
    } else {
      for (size_t i = 0; i <= width; ++i) {
        if (!(deviations[i] > 0)) {
          json.AddProblem("deviations", "must be above 0");
        }
        (i < width ? data.x_scales.emplace_back() : data.y_scale) =
            ColumnScale{means[i], deviations[i]};
      }
    }
  }
  REGARD_RETURN_IF_ERROR(EnsureErrorPrefix(file.status()));
  return data;
}

std::string ColumnsText(const RegressionData& data) {
  return absl::StrCat(data.y_name, " from ", absl::StrJoin(data.x_names, ", "));
}

// Checks that the data have not changed, for a run whose folder contains no
// points.
absl::Status CheckUnchanged(const StoredFiles& kept,
                            const RegressionData& data) {
  const absl::StatusOr<std::string> read = kept.read(kPointsDigestFile);
  if (!read.ok() && !absl::IsNotFound(read.status())) return read.status();
  const absl::StatusOr<Environment> before = ReadRunDigests(kept.folder);
  std::string digest(absl::StripAsciiWhitespace(read.value_or("")));
  if (before.ok() && before->files.contains(kPointsFile)) {
    digest = before->files.at(kPointsFile);
  }
  if (!digest.empty()) {
    if (digest == Sha256Hex(JsonOf(data))) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "error: data: the training points have changed since the training: ",
        kAnotherModel));
  }
  if (!before.ok()) return absl::OkStatus();
  // Earlier versions stored the digest of the data file.
  for (const auto& [name, now] : data.digests) {
    const auto then = before->data.find(name);
    if (then == before->data.end() || then->second == now) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "error: ", name, " has changed since the training: its SHA-256 was ",
        then->second, " and is now ", now, ": ", kAnotherModel));
  }
  return absl::OkStatus();
}

}  // namespace

std::map<std::string, std::string> TrainingPointsFiles(
    const RegressionData& data) {
  std::string text = JsonOf(data);
  if (text.size() > kMaxBytes) {
    return {{kPointsDigestFile, absl::StrCat(Sha256Hex(text), "\n")}};
  }
  return {{kPointsFile, std::move(text)}};
}

absl::Status UseStoredPoints(const StoredFiles& kept, RegressionData* data) {
  const absl::StatusOr<std::string> text = kept.read(kPointsFile);
  if (absl::IsNotFound(text.status())) {
    if (data->training.size() == 0) return absl::NotFoundError("");
    return CheckUnchanged(kept, *data);
  }
  REGARD_RETURN_IF_ERROR(text.status());
  REGARD_ASSIGN_OR_RETURN(RegressionData points,
                          Parse(*text, JoinPath(kept.folder, kPointsFile)));
  const bool same =
      points.x_names == data->x_names && points.y_name == data->y_name;
  if (data->training.size() > 0 && !same) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error: data: the model predicts ", ColumnsText(points),
        ", but the data has ", ColumnsText(*data),
        "; choose columns with data.table.target and data.table.columns"));
  }
  data->training = std::move(points.training);
  data->x_names = std::move(points.x_names);
  data->y_name = std::move(points.y_name);
  data->x_scales = std::move(points.x_scales);
  data->y_scale = points.y_scale;
  return absl::OkStatus();
}

}  // namespace regard
