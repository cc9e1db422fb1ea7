#include "experiments/run/status.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostLogBytes = int64_t{1} << 30;

// Takes a line off the text. A list of all lines could take 16 bytes for each
// byte of the text.
absl::string_view TakeLine(absl::string_view* text) {
  const absl::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(std::min(line.size() + 1, text->size()));
  return line;
}

// Reads the records up to `last_step`; `*bytes` are those of their lines.
absl::StatusOr<std::vector<MetricsRecord>> ReadRecords(absl::string_view path,
                                                       absl::string_view text,
                                                       int64_t last_step,
                                                       int64_t most_of_last,
                                                       int64_t* bytes) {
  std::vector<MetricsRecord> records;
  int64_t of_last = 0;
  while (absl::StrContains(text, '\n')) {
    const absl::string_view line = TakeLine(&text);
    REGARD_ASSIGN_OR_RETURN(
        JsonFile file,
        JsonFile::Parse(line, path, static_cast<int64_t>(records.size()) + 1));
    const JsonObject json = file.root();
    const int64_t least_step = records.empty() ? 0 : records.back().step;
    MetricsRecord record = {.step = json.Integer("step", {}, least_step),
                            .epoch = json.Integer("epoch"),
                            .metrics = json.Numbers("metrics")};
    if (json.json().contains("seconds")) {
      record.seconds = json.Real("seconds", 0);
    }
    REGARD_RETURN_IF_ERROR(file.status());
    if (record.step > last_step) break;
    if (record.step == last_step && ++of_last > most_of_last) break;
    records.push_back(std::move(record));
    *bytes += static_cast<int64_t>(line.size()) + 1;
  }
  return records;
}

// By state.
constexpr absl::string_view kStateNames[] = {"running", "finished",
                                             "interrupted", "failed"};

constexpr char kNan[] = "NaN";
constexpr char kInfinity[] = "Infinity";
constexpr char kMinusInfinity[] = "-Infinity";

// A statistic: a number, or one of these names for what JSON lacks.
Json StatisticJson(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return kNan;
  return value > 0 ? kInfinity : kMinusInfinity;
}

std::optional<double> ReadStatistic(const nlohmann::json& json) {
  if (json.is_number()) return json.get<double>();
  // Earlier programs wrote null for all that is not finite.
  if (json.is_null() || json == kNan) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (json == kInfinity) return std::numeric_limits<double>::infinity();
  if (json == kMinusInfinity) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string HeaderLine(const EvaluatedSet& set) {
  Json metrics = Json::array();
  for (const ExampleMetric& metric : set.metrics) {
    metrics.push_back({{"name", metric.name},
                       {"aggregate", metric.aggregate->name},
                       {"width", metric.aggregate->width},
                       {"of_single_examples", metric.of_single_examples}});
  }
  return JsonText({{"examples", set.examples.size()},
                   {"length_unit", set.length_unit},
                   {"metrics", std::move(metrics)}}) +
         "\n";
}

std::string ExampleLine(const EvaluatedSet& set, size_t i) {
  const EvaluatedExample& example = set.examples[i];
  Json statistics = Json::array();
  for (const ExampleMetric& metric : set.metrics) {
    Json& row = statistics.emplace_back(Json::array());
    for (const double number : metric.Of(i)) {
      row.push_back(StatisticJson(number));
    }
  }
  return JsonText({{"input", example.input},
                   {"reference", example.reference},
                   {"output", example.output},
                   {"length", example.length},
                   {"statistics", std::move(statistics)}}) +
         "\n";
}

// The metrics in a set's header; those of an unknown aggregate have none.
std::vector<ExampleMetric> ReadMetrics(const JsonObject& header,
                                       const Aggregates& aggregates) {
  std::vector<ExampleMetric> metrics;
  for (const JsonObject& json : header.Objects("metrics")) {
    const auto found = aggregates.find(json.Text("aggregate"));
    const Aggregate* const aggregate =
        found == aggregates.end() ? nullptr : found->second;
    if (aggregate != nullptr) {
      json.Integer("width", {}, aggregate->width, aggregate->width);
    }
    metrics.push_back({.name = json.Text("name"),
                       .aggregate = aggregate,
                       .of_single_examples = json.Bool("of_single_examples")});
  }
  return metrics;
}

// Adds the statistics of an example to the metrics; false if they are not
// those of the metrics.
bool AddStatistics(const nlohmann::json& rows,
                   std::vector<ExampleMetric>& metrics) {
  if (rows.size() != metrics.size()) return false;
  for (size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].aggregate == nullptr) continue;
    std::vector<double> statistics;
    for (const nlohmann::json& json : rows[i]) {
      const std::optional<double> statistic = ReadStatistic(json);
      if (!statistic.has_value()) return false;
      statistics.push_back(*statistic);
    }
    if (!rows[i].is_array() ||
        std::ssize(statistics) != metrics[i].aggregate->width) {
      return false;
    }
    metrics[i].Add(statistics);
  }
  return true;
}

absl::StatusOr<EvaluatedExample> ReadExample(
    JsonFile file, std::vector<ExampleMetric>& metrics) {
  const JsonObject json = file.root();
  EvaluatedExample example = {.input = json.Text("input"),
                              .reference = json.Text("reference"),
                              .output = json.Text("output"),
                              .length = json.Integer("length")};
  if (!AddStatistics(json.Array("statistics"), metrics)) {
    json.Complain("statistics",
                  "statistics must be a list of numbers for each metric");
  }
  REGARD_RETURN_IF_ERROR(file.status());
  return example;
}

bool OfSplit(const EvaluatedSet& set, absl::string_view split) {
  return !set.metrics.empty() &&
         absl::StartsWith(set.metrics.front().name, split);
}

}  // namespace

absl::string_view StateName(RunState state) {
  return kStateNames[static_cast<size_t>(state)];
}

std::string StatusJson(const RunStatus& status) {
  Json json = {{"state", StateName(status.state)},
               {"step", status.step},
               {"metrics", status.metrics},
               {"weights_digest", status.weights_digest}};
  if (!status.signatures.empty()) json["signatures"] = status.signatures;
  for (const auto& [name, interval] : status.confidence) {
    json["confidence"][name] = {{"mean", interval.mean},
                                {"half_width", interval.half_width},
                                {"low", interval.low},
                                {"high", interval.high}};
  }
  return JsonText(json) + "\n";
}

absl::Status WriteStatus(const std::string& run_folder,
                         const RunStatus& status) {
  return WriteFileAtomically(JoinPath(run_folder, "status.json"),
                             StatusJson(status));
}

absl::StatusOr<RunStatus> ReadStatus(const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(JsonFile file, JsonFile::Read(path));
  const JsonObject json = file.root();
  RunStatus status = {
      .state = static_cast<RunState>(json.Choice("state", kStateNames)),
      .step = json.Integer("step"),
      .metrics = json.Numbers("metrics"),
      .weights_digest = json.Text("weights_digest"),
      .signatures = json.Texts("signatures")};
  REGARD_RETURN_IF_ERROR(file.status());
  return status;
}

MetricCurves CurvesOf(absl::Span<const MetricsRecord> records) {
  MetricCurves curves;
  for (const MetricsRecord& record : records) {
    for (const auto& [metric, value] : record.metrics) {
      curves[metric][record.step] = value;
    }
  }
  return curves;
}

std::string MetricsLine(const MetricsRecord& record) {
  Json json = {{"step", record.step},
               {"epoch", record.epoch},
               {"metrics", record.metrics}};
  if (record.seconds.has_value()) json["seconds"] = *record.seconds;
  return JsonText(json) + "\n";
}

absl::StatusOr<std::vector<MetricsRecord>> ReadMetricsLog(
    const std::string& path) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMostLogBytes));
  int64_t bytes = 0;
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  return ReadRecords(path, text, kAll, kAll, &bytes);
}

absl::StatusOr<FileWriter> ResumeMetricsLog(const std::string& path,
                                            int64_t step, FileOperations& files,
                                            int64_t records) {
  REGARD_ASSIGN_OR_RETURN(const PathKind kind, KindOfPath(path, files));
  if (kind == PathKind::kNothing) return FileWriter::Create(path, files);
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMostLogBytes, files));
  int64_t kept = 0;
  const absl::Status read =
      ReadRecords(path, text, step, records, &kept).status();
  // A last line that is damaged is cut off, as a torn one is.
  const bool last = text.find('\n', kept) == text.size() - 1;
  if (!read.ok() && !last) return read;
  return FileWriter::Resume(path, kept, files);
}

std::string ExamplesText(absl::Span<const EvaluatedSet> sets) {
  std::string text;
  for (const EvaluatedSet& set : sets) {
    text += HeaderLine(set);
    for (size_t i = 0; i < set.examples.size(); ++i)
      text += ExampleLine(set, i);
  }
  return text;
}

absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMostLogBytes));
  absl::string_view rest = text;
  int64_t number = 0;
  const auto read_line = [&] {
    return JsonFile::Parse(TakeLine(&rest), path, ++number);
  };
  std::vector<EvaluatedSet> sets;
  while (!rest.empty()) {
    REGARD_ASSIGN_OR_RETURN(JsonFile file, read_line());
    const JsonObject header = file.root();
    EvaluatedSet set = {.length_unit = header.Text("length_unit")};
    set.metrics = ReadMetrics(header, aggregates);
    const int64_t examples = header.Integer("examples");
    REGARD_RETURN_IF_ERROR(file.status());
    for (int64_t i = 0; i < examples; ++i) {
      REGARD_ASSIGN_OR_RETURN(JsonFile line, read_line());
      REGARD_ASSIGN_OR_RETURN(set.examples.emplace_back(),
                              ReadExample(std::move(line), set.metrics));
    }
    std::erase_if(set.metrics, [](const ExampleMetric& metric) {
      return metric.aggregate == nullptr;
    });
    sets.push_back(std::move(set));
  }
  return sets;
}

std::vector<EvaluatedSet> FinalSets(std::vector<EvaluatedSet> sets) {
  const bool tested =
      std::any_of(sets.begin(), sets.end(),
                  [](const EvaluatedSet& set) { return OfSplit(set, "test"); });
  std::erase_if(sets, [&](const EvaluatedSet& set) {
    return !OfSplit(set, tested ? "test" : "dev");
  });
  return sets;
}

}  // namespace regard
