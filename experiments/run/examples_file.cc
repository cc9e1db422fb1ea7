#include "experiments/run/examples_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "files/file.h"
#include "files/json_file.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostBytes = int64_t{1} << 30;

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
    json.Require({"name", "aggregate", "width", "of_single_examples"});
    const auto found = aggregates.find(json.Text("aggregate").value_or(""));
    const Aggregate* const aggregate =
        found == aggregates.end() ? nullptr : found->second;
    if (aggregate != nullptr) {
      json.Integer("width", 0, aggregate->width, aggregate->width);
    }
    metrics.push_back({.name = json.Text("name").value_or(""),
                       .aggregate = aggregate,
                       .of_single_examples =
                           json.Bool("of_single_examples").value_or(false)});
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
  json.Require({"input", "reference", "output", "statistics"});
  EvaluatedExample example = {.input = json.Text("input").value_or(""),
                              .reference = json.Text("reference").value_or(""),
                              .output = json.Text("output").value_or(""),
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
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  size_t next = 0;
  const auto read_line = [&] {
    const absl::string_view line = next < lines.size() ? lines[next] : "";
    return JsonFile::Parse(line, path, static_cast<int64_t>(++next));
  };
  std::vector<EvaluatedSet> sets;
  while (next < lines.size()) {
    REGARD_ASSIGN_OR_RETURN(JsonFile file, read_line());
    const JsonObject header = file.root();
    header.Require({"length_unit", "metrics"});
    EvaluatedSet set = {.length_unit = header.Text("length_unit").value_or("")};
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
