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

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

constexpr char kNan[] = "NaN";
constexpr char kInfinity[] = "Infinity";
constexpr char kMinusInfinity[] = "-Infinity";

// Returns a statistic as a number, or as a string if JSON cannot represent it.
Json StatisticJson(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return kNan;
  return value > 0 ? kInfinity : kMinusInfinity;
}

std::optional<double> ReadStatistic(const nlohmann::json& json) {
  if (json.is_number()) return json.get<double>();
  // Earlier versions wrote null for every number that is not finite.
  if (json.is_null() || json == kNan) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (json == kInfinity) return std::numeric_limits<double>::infinity();
  if (json == kMinusInfinity) return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string HeaderLine(const EvaluatedSet& set) {
  Json metrics = Json::array();
  for (const MetricOverExamples& metric : set.metrics) {
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
  const ExampleTexts& example = set.examples[i];
  Json statistics = Json::array();
  for (const MetricOverExamples& metric : set.metrics) {
    Json& row = statistics.emplace_back(Json::array());
    for (const double number : metric.StatisticsOf(i)) {
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

// Returns the metrics that the header of a set lists, with null for an unknown
// aggregate.
std::vector<MetricOverExamples> ReadMetrics(const JsonObject& header,
                                            const Aggregates& aggregates) {
  std::vector<MetricOverExamples> metrics;
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

// Adds the statistics of an example to the metrics. Returns false if there is
// not one row of statistics for each metric.
bool AddStatistics(const nlohmann::json& rows,
                   std::vector<MetricOverExamples>& metrics) {
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

absl::StatusOr<ExampleTexts> ReadExample(
    JsonFile file, std::vector<MetricOverExamples>& metrics) {
  const JsonObject json = file.root();
  ExampleTexts example = {.input = json.Text("input"),
                          .reference = json.Text("reference"),
                          .output = json.Text("output"),
                          .length = json.Integer("length")};
  if (!AddStatistics(json.Array("statistics"), metrics)) {
    json.AddProblem("statistics",
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
    for (size_t i = 0; i < set.examples.size(); ++i) {
      text += ExampleLine(set, i);
    }
  }
  return text;
}

absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(const std::string text,
                          ReadFile(path, kMaxFileBytes));
  absl::string_view rest = text;
  int64_t number = 0;
  const auto read_line = [&] {
    // Splits off one line at a time, because a list of all lines could take 16
    // bytes for each byte of the text.
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits('\n', 1));
    rest = parts.second;
    return JsonFile::Parse(parts.first, path, ++number);
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
    std::erase_if(set.metrics, [](const MetricOverExamples& metric) {
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
