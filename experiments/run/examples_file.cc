#include "experiments/run/examples_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "files/file.h"
#include "files/json_text.h"
#include "nlohmann/json.hpp"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostBytes = int64_t{1} << 30;
constexpr int64_t kMostWidth = 1000;

constexpr char kNan[] = "NaN";
constexpr char kInfinity[] = "Infinity";
constexpr char kMinusInfinity[] = "-Infinity";

// A statistic: a number, or one of these names for what JSON lacks.
std::string StatisticText(double value) {
  if (std::isfinite(value)) return JsonNumber(value);
  return JsonString(std::isnan(value) ? kNan
                    : value > 0       ? kInfinity
                                      : kMinusInfinity);
}

std::optional<double> ReadStatistic(const Json& json) {
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
  std::string metrics;
  for (const ExampleMetric& metric : set.metrics) {
    absl::StrAppend(&metrics, metrics.empty() ? "" : ",",
                    "{\"name\":", JsonString(metric.name),
                    ",\"aggregate\":", JsonString(metric.aggregate->name),
                    ",\"width\":", metric.aggregate->width,
                    ",\"of_single_examples\":",
                    metric.of_single_examples ? "true" : "false", "}");
  }
  return absl::StrCat("{\"examples\":", set.examples.size(),
                      ",\"length_unit\":", JsonString(set.length_unit),
                      ",\"metrics\":[", metrics, "]}\n");
}

std::string ExampleLine(const EvaluatedSet& set, size_t i) {
  const EvaluatedExample& example = set.examples[i];
  std::string line =
      absl::StrCat("{\"input\":", JsonString(example.input),
                   ",\"reference\":", JsonString(example.reference),
                   ",\"output\":", JsonString(example.output),
                   ",\"length\":", example.length, ",\"statistics\":[");
  for (const ExampleMetric& metric : set.metrics) {
    absl::StrAppend(&line, line.back() == '[' ? "[" : ",[");
    for (const double number : metric.Of(i)) {
      absl::StrAppend(&line, line.back() == '[' ? "" : ",",
                      StatisticText(number));
    }
    absl::StrAppend(&line, "]");
  }
  return absl::StrCat(line, "]}\n");
}

// Reads line after line; remembers what was wrong first.
class ExamplesReader {
 public:
  ExamplesReader(absl::string_view text, const Aggregates& aggregates)
      : text_(text), aggregates_(aggregates) {}

  std::vector<EvaluatedSet> Read() {
    std::vector<EvaluatedSet> sets;
    while (ok_ && next_ < text_.size()) sets.push_back(ReadSet());
    return sets;
  }

  bool ok() const { return ok_; }
  // The offset of the line that was read last.
  size_t line() const { return line_; }

 private:
  static const Json& Nothing() {
    static const Json* const kNothing = new Json();
    return *kNothing;
  }

  Json NextLine() {
    line_ = next_;
    const size_t end = std::min(text_.find('\n', next_), text_.size());
    const absl::string_view line = text_.substr(line_, end - line_);
    next_ = std::min(end + 1, text_.size());
    return Json::parse(line.begin(), line.end(), /*cb=*/nullptr,
                       /*allow_exceptions=*/false);
  }

  const Json& Member(const Json& json, const char* key,
                     bool (Json::*is)() const) {
    if (ok_ && json.is_object() && json.contains(key) && (json[key].*is)()) {
      return json[key];
    }
    ok_ = false;
    return Nothing();
  }

  std::string Text(const Json& json, const char* key) {
    const Json& text = Member(json, key, &Json::is_string);
    return ok_ ? text.get<std::string>() : "";
  }

  int64_t Count(const Json& json, const char* key) {
    const Json& count = Member(json, key, &Json::is_number_unsigned);
    return ok_ ? count.get<int64_t>() : 0;
  }

  // A metric in a set's header; null if the aggregate is not known.
  struct Column {
    int64_t width = 0;
    ExampleMetric metric = {};
  };

  Column ReadColumn(const Json& json) {
    Column column;
    column.metric.name = Text(json, "name");
    column.width = Count(json, "width");
    column.metric.of_single_examples =
        Member(json, "of_single_examples", &Json::is_boolean) == Json(true);
    const auto found = aggregates_.find(Text(json, "aggregate"));
    column.metric.aggregate =
        found == aggregates_.end() ? nullptr : found->second;
    ok_ = ok_ && column.width <= kMostWidth &&
          (column.metric.aggregate == nullptr ||
           column.metric.aggregate->width == column.width);
    return column;
  }

  void ReadExample(std::vector<Column>& columns, EvaluatedSet& set) {
    const Json json = NextLine();
    set.examples.push_back({.input = Text(json, "input"),
                            .reference = Text(json, "reference"),
                            .output = Text(json, "output"),
                            .length = Count(json, "length")});
    const Json& rows = Member(json, "statistics", &Json::is_array);
    ok_ = ok_ && rows.size() == columns.size();
    for (size_t i = 0; ok_ && i < columns.size(); ++i) {
      const Json& row = rows[i];
      ok_ = row.is_array() &&
            static_cast<int64_t>(row.size()) == columns[i].width;
      std::vector<double> statistics;
      for (const Json& json : row) {
        const std::optional<double> statistic = ReadStatistic(json);
        ok_ = ok_ && statistic.has_value();
        statistics.push_back(statistic.value_or(0));
      }
      if (!ok_ || columns[i].metric.aggregate == nullptr) continue;
      columns[i].metric.Add(statistics);
    }
  }

  EvaluatedSet ReadSet() {
    EvaluatedSet set;
    const Json header = NextLine();
    const int64_t examples = Count(header, "examples");
    set.length_unit = Text(header, "length_unit");
    std::vector<Column> columns;
    for (const Json& metric : Member(header, "metrics", &Json::is_array)) {
      columns.push_back(ReadColumn(metric));
    }
    for (int64_t i = 0; ok_ && i < examples; ++i) ReadExample(columns, set);
    for (Column& column : columns) {
      if (column.metric.aggregate != nullptr) {
        set.metrics.push_back(std::move(column.metric));
      }
    }
    return set;
  }

  const absl::string_view text_;
  const Aggregates& aggregates_;
  size_t line_ = 0;
  size_t next_ = 0;  // the offset of the next line
  bool ok_ = true;
};

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

absl::StatusOr<std::vector<EvaluatedSet>> ParseExamples(
    absl::string_view path, absl::string_view text,
    const Aggregates& aggregates) {
  ExamplesReader reader(text, aggregates);
  std::vector<EvaluatedSet> sets = reader.Read();
  if (reader.ok()) return sets;
  return absl::InvalidArgumentError(
      ErrorInText(path, text, reader.line(), "not the examples of a data set"));
}

absl::StatusOr<std::vector<EvaluatedSet>> ReadExamples(
    const std::string& path, const Aggregates& aggregates) {
  REGARD_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
  return ParseExamples(path, text, aggregates);
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
