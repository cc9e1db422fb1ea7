#include "experiments/report/explanation_report.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/report/run_results.h"
#include "experiments/report/terminal_text.h"
#include "files/printable_text.h"
#include "nlohmann/json.hpp"

namespace regard {

namespace {

constexpr size_t kMaxTerms = 10;

// Returns the indices 0 to count - 1, sorted by descending number(i).
template <typename F>
std::vector<size_t> LargestFirst(size_t count, F number) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return number(a) > number(b); });
  return order;
}

std::string Number(double number) { return absl::StrFormat("%.4f", number); }

Table SourcesTable(const ScoreExplanation& explanation) {
  const std::vector<ScoreSource>& sources = explanation.sources;
  Table table = {{"source", "as query", "as key"}};
  for (const size_t i : LargestFirst(sources.size(), [&](size_t i) {
         return std::max(std::abs(sources[i].as_query),
                         std::abs(sources[i].as_key));
       })) {
    table.rows.push_back({sources[i].Name(), Number(sources[i].as_query),
                          Number(sources[i].as_key)});
  }
  return table;
}

Table TermsTable(const ScoreExplanation& explanation) {
  const std::vector<ScoreSource>& sources = explanation.sources;
  const std::vector<double>& terms = explanation.terms;
  Table table = {{"query reads", "key reads", "term"}};
  double others = 0;
  size_t shown = 0;
  for (const size_t i : LargestFirst(
           terms.size(), [&](size_t i) { return std::abs(terms[i]); })) {
    if (shown == kMaxTerms) {
      others += terms[i];
      continue;
    }
    ++shown;
    table.rows.push_back({sources[i / sources.size()].Name(),
                          sources[i % sources.size()].Name(),
                          Number(terms[i])});
  }
  const auto add = [&](const std::string& name, double number) {
    table.rows.push_back({name, "", Number(number)});
  };
  if (shown < terms.size()) {
    add(absl::StrCat(terms.size() - shown, " other terms"), others);
  }
  if (explanation.distance_bias != 0) {
    add("bias of the distance", explanation.distance_bias);
  }
  if (explanation.forgetting != 0) {
    add("forget gate", explanation.forgetting);
  }
  add("total", explanation.total);
  return table;
}

}  // namespace

std::string ExplanationText(const ScoreExplanation& explanation) {
  constexpr int kWhole = std::numeric_limits<int>::max();
  return absl::StrCat(
      explanation.site, ", head ", explanation.head, "\nquery ",
      explanation.query, " '", PrintableText(explanation.query_label),
      "', key ", explanation.key, " '", PrintableText(explanation.key_label),
      "': weight ", Number(explanation.weight), ", score ",
      Number(explanation.score), "\n\n",
      TableText(SourcesTable(explanation), kWhole), "\n",
      TableText(TermsTable(explanation), kWhole));
}

nlohmann::ordered_json ExplanationJson(const ScoreExplanation& explanation) {
  using Json = nlohmann::ordered_json;
  const size_t count = explanation.sources.size();
  Json sources = Json::array();
  Json terms = Json::array();
  for (size_t i = 0; i < count; ++i) {
    const ScoreSource& of = explanation.sources[i];
    Json source = {{"name", of.Name()}};
    if (of.source.has_value()) source["site"] = of.source->site;
    if (of.source.has_value() && of.source->head >= 0) {
      source["head"] = of.source->head;
    }
    source["as_query"] = of.as_query;
    source["as_key"] = of.as_key;
    sources.push_back(std::move(source));
    const double* const row = explanation.terms.data() + i * count;
    terms.push_back(std::vector<double>(row, row + count));
  }
  return {{"site", explanation.site},
          {"head", explanation.head},
          {"query", explanation.query},
          {"key", explanation.key},
          {"query_label", explanation.query_label},
          {"key_label", explanation.key_label},
          {"weight", explanation.weight},
          {"score", explanation.score},
          {"total", explanation.total},
          {"distance_bias", explanation.distance_bias},
          {"forgetting", explanation.forgetting},
          {"sources", std::move(sources)},
          {"terms", std::move(terms)}};
}

}  // namespace regard
