#include "experiments/inspection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/metrics/alignment_error_rate.h"

namespace regard {

namespace {

// One row for each word of the target, <eos> apart.
std::vector<AlignmentLink> PredictedLinks(const Inspection& inspection) {
  std::vector<float> weights;
  const auto rows = static_cast<int>(inspection.target.size()) - 1;
  const auto columns = static_cast<int>(inspection.source.size());
  for (int u = 0; u < rows; ++u) {
    for (const double weight : inspection.steps[u].weights) {
      weights.push_back(static_cast<float>(weight));
    }
  }
  std::vector<AlignmentLink> links = GreatestLinks(weights, rows, columns);
  // A row that looks at <eos> above all has no link.
  std::erase_if(links, [&](const AlignmentLink& link) {
    return link.source == columns - 1;
  });
  return links;
}

LabelledMatrix MatrixOf(const Inspection& inspection, const char* title,
                        std::vector<double> InspectedStep::*numbers) {
  LabelledMatrix matrix;
  matrix.title = title;
  matrix.rows = inspection.target;
  matrix.columns = inspection.source;
  matrix.heads.emplace_back();
  for (const InspectedStep& step : inspection.steps) {
    const std::vector<double>& row = step.*numbers;
    matrix.heads[0].insert(matrix.heads[0].end(), row.begin(), row.end());
  }
  for (const AlignmentLink& link : inspection.gold) {
    matrix.gold.push_back({link.target, link.source});
  }
  return matrix;
}

std::string Named(const Inspection& inspection,
                  const std::vector<double>& numbers,
                  std::vector<double>::const_iterator chosen) {
  return absl::StrFormat("%s %.3g", inspection.source[chosen - numbers.begin()],
                         *chosen);
}

}  // namespace

Inspection Inspect(const Translator& translator,
                   const std::vector<std::string>& source,
                   const std::vector<std::string>& target,
                   const std::vector<AlignmentLink>& gold) {
  const std::vector<int32_t> source_ids = translator.EncodeSource(source);
  const std::vector<int32_t> target_ids = translator.EncodeTarget(target);
  Inspection inspection;
  inspection.source = source;
  inspection.source.push_back("<eos>");
  inspection.target = target;
  inspection.target.push_back("<eos>");
  // A config may cut sentences.
  inspection.source.resize(source_ids.size());
  inspection.target.resize(target_ids.size());

  Tape<float> tape;
  GradientSlab<float> gradients(translator.parameters());
  Forward<float> forward(tape, translator.parameters(), &gradients);
  inspection.steps = InspectAttention<float>(translator.model(), forward,
                                             source_ids, target_ids);
  inspection.gold = gold;
  if (!gold.empty()) {
    AlignmentErrorRate rate;
    rate.Add(PredictedLinks(inspection), gold);
    inspection.alignment_error_rate = rate.Rate();
  }
  return inspection;
}

LabelledMatrix WeightsMap(const Inspection& inspection) {
  return MatrixOf(inspection, "weights of each step", &InspectedStep::weights);
}

LabelledMatrix GradientsMap(const Inspection& inspection) {
  return MatrixOf(inspection, "gradient of each word's log p by them",
                  &InspectedStep::gradients);
}

Table StepsTable(const Inspection& inspection) {
  Table table;
  table.header = {"word",          "log p",         "entropy",
                  "looks most at", "steepest gain", "steepest loss"};
  for (size_t u = 0; u < inspection.steps.size(); ++u) {
    const InspectedStep& step = inspection.steps[u];
    const auto& slopes = step.gradients;
    const auto [lowest, highest] =
        std::minmax_element(slopes.begin(), slopes.end());
    table.rows.push_back(
        {inspection.target[u], absl::StrFormat("%.3f", step.log_probability),
         absl::StrFormat("%.3f", step.entropy),
         Named(inspection, step.weights,
               std::max_element(step.weights.begin(), step.weights.end())),
         Named(inspection, slopes, highest),
         Named(inspection, slopes, lowest)});
  }
  return table;
}

double LogProbability(const Inspection& inspection) {
  double sum = 0;
  for (const InspectedStep& step : inspection.steps) {
    sum += step.log_probability;
  }
  return sum;
}

std::string ErrorRateText(const Inspection& inspection) {
  return inspection.alignment_error_rate.has_value()
             ? absl::StrFormat(
                   "alignment error rate %.3f against %d gold links",
                   *inspection.alignment_error_rate, inspection.gold.size())
             : "no gold alignment is known for this pair";
}

Explanation ExplanationOf(const Inspection& inspection) {
  double entropy = 0;
  for (const InspectedStep& step : inspection.steps) entropy += step.entropy;
  Explanation explanation;
  explanation.title =
      absl::StrCat(absl::StrJoin(inspection.source, " "), " \u2192 ",
                   absl::StrJoin(inspection.target, " "));
  explanation.summary = absl::StrFormat(
      "Log probability of the whole %.3f; mean entropy of a step %.3f nats; "
      "%s.",
      LogProbability(inspection),
      entropy / static_cast<double>(inspection.steps.size()),
      ErrorRateText(inspection));
  explanation.maps = {WeightsMap(inspection), GradientsMap(inspection)};
  explanation.steps = StepsTable(inspection);
  return explanation;
}

}  // namespace regard
