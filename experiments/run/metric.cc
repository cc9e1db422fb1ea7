#include "experiments/run/metric.h"

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

constexpr int64_t kFormatVersion = 2;
constexpr char kTrainingData[] = "training_data";

absl::Status WrongVersion(const std::string& path, int64_t version) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": error: the run folder has format version ", version,
                   ", but this program reads version ", kFormatVersion,
                   "; train the run again"));
}

}  // namespace

std::string RunDescriptionJson(
    absl::Span<const MetricInfo> metrics,
    const std::map<std::string, double>& training_data) {
  std::vector<std::string> lines;
  for (const MetricInfo& metric : metrics) {
    lines.push_back(
        JsonText({{"name", metric.name},
                  {"unit", metric.unit},
                  {"meaning", metric.meaning},
                  {"better", kBetterNames[static_cast<size_t>(metric.better)]},
                  {"logarithmic", metric.logarithmic}}));
  }
  return absl::StrCat(
      "{\"format_version\":", kFormatVersion, ",\"metrics\":[",
      lines.empty() ? "" : "\n", absl::StrJoin(lines, ",\n"), "]",
      training_data.empty() ? ""
                            : absl::StrCat(",\n\"", kTrainingData,
                                           "\":", JsonText(training_data)),
      "}\n");
}

namespace {

// Opens run.json and checks its version.
absl::StatusOr<JsonFile> OpenDescription(const std::string& run_folder) {
  const std::string path = JoinPath(run_folder, "run.json");
  if (!PathExists(path) &&
      PathExists(JoinPath(run_folder, "resolved.textproto"))) {
    return WrongVersion(run_folder, 1);
  }
  absl::StatusOr<JsonFile> file = JsonFile::Read(path);
  if (absl::IsNotFound(file.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat("error: not a run folder: ",
                     absl::StripPrefix(file.status().message(), "error: ")));
  }
  REGARD_RETURN_IF_ERROR(file.status());
  const int64_t version = file->root().Integer("format_version");
  if (file->status().ok() && version != kFormatVersion) {
    return WrongVersion(run_folder, version);
  }
  return file;
}

}  // namespace

absl::StatusOr<std::vector<MetricInfo>> ReadRunDescription(
    const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, OpenDescription(run_folder));
  const JsonObject json = file.root();
  std::vector<MetricInfo> metrics;
  for (const JsonObject& metric : json.Objects("metrics")) {
    metrics.push_back(
        {.name = metric.Text("name"),
         .unit = metric.Text("unit"),
         .meaning = metric.Text("meaning"),
         .better = static_cast<Better>(metric.Choice("better", kBetterNames)),
         .logarithmic = metric.Bool("logarithmic")});
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return metrics;
}

absl::StatusOr<std::map<std::string, double>> ReadTrainingDataNumbers(
    const std::string& run_folder) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, OpenDescription(run_folder));
  std::map<std::string, double> numbers;
  if (file.root().Has(kTrainingData)) {
    numbers = file.root().Numbers(kTrainingData);
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return numbers;
}

}  // namespace regard
