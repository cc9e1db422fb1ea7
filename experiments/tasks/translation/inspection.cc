#include "experiments/tasks/translation/inspection.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/tape.h"
#include "experiments/report/report.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/metrics/alignment_error_rate.h"

namespace regard {

namespace {

constexpr char kGradientsMeaning[] =
    "Beside the weights stand gradients: how the log probability of the word "
    "that was chosen changes with each weight, the others held. Above 0, more "
    "weight there would have made the word likelier. The entropy of a step's "
    "weights is in nats: 0 when one word has all of the attention.";

// One for each attention over the source, named where there are several.
std::vector<LabelledMatrix> MatricesOf(
    const Inspection& inspection, absl::string_view title,
    std::vector<double> InspectedMap::*numbers) {
  std::vector<LabelledMatrix> matrices;
  for (const InspectedStep& step : inspection.steps) {
    size_t attentions = 0;
    for (const InspectedMap& map : step.maps) {
      const std::vector<double>& row = map.*numbers;
      if (!map.over_memory || row.empty()) continue;
      if (map.head == 0 && attentions++ == matrices.size()) {
        matrices.push_back({.title = map.name,
                            .rows = inspection.target,
                            .columns = inspection.source});
        for (const AlignmentLink& link : inspection.gold) {
          matrices.back().gold.push_back({link.target, link.source});
        }
      }
      std::vector<std::vector<double>>& heads = matrices[attentions - 1].heads;
      if (map.head == std::ssize(heads)) heads.emplace_back();
      std::vector<double>& head = heads[static_cast<size_t>(map.head)];
      head.insert(head.end(), row.begin(), row.end());
    }
  }
  for (LabelledMatrix& matrix : matrices) {
    matrix.title = matrices.size() == 1
                       ? std::string(title)
                       : absl::StrCat(title, ", ", matrix.title);
  }
  return matrices;
}

std::vector<LabelledMatrix> WeightsOf(const Inspection& inspection) {
  return MatricesOf(inspection, "weights of each step", &InspectedMap::weights);
}

// The word with the greatest of `numbers` times `sign`; "" if there are none.
std::string Greatest(const Inspection& inspection,
                     const std::vector<double>& numbers, double sign) {
  if (numbers.empty()) return "";
  const auto chosen = std::max_element(
      numbers.begin(), numbers.end(),
      [sign](double a, double b) { return sign * a < sign * b; });
  return absl::StrFormat("%s %.3g", inspection.source[chosen - numbers.begin()],
                         *chosen);
}

// The gradient by the weights of all maps over the source together.
std::vector<double> GradientsOf(const InspectedStep& step) {
  std::vector<double> sum;
  for (const InspectedMap& map : step.maps) {
    if (!map.over_memory || map.gradients.empty()) continue;
    sum.resize(map.gradients.size());
    for (size_t j = 0; j < sum.size(); ++j) sum[j] += map.gradients[j];
  }
  return sum;
}

Table StepsTable(const Inspection& inspection) {
  Table table;
  table.header = {"word",          "log p",         "entropy",
                  "looks most at", "steepest gain", "steepest loss"};
  for (size_t u = 0; u < inspection.steps.size(); ++u) {
    const InspectedStep& step = inspection.steps[u];
    const std::vector<double> gradients = GradientsOf(step);
    table.rows.push_back({inspection.target[u],
                          absl::StrFormat("%.3f", step.log_probability),
                          absl::StrFormat("%.3f", Entropy(step.alignment)),
                          Greatest(inspection, step.alignment, 1),
                          Greatest(inspection, gradients, 1),
                          Greatest(inspection, gradients, -1)});
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

double MeanEntropy(const Inspection& inspection) {
  double sum = 0;
  for (const InspectedStep& step : inspection.steps) {
    sum += Entropy(step.alignment);
  }
  return sum / static_cast<double>(inspection.steps.size());
}

// Weights, each with the gradients by them beside it.
Maps MapsOf(const Inspection& inspection) {
  const std::vector<LabelledMatrix> weights = WeightsOf(inspection);
  const std::vector<LabelledMatrix> gradients =
      MatricesOf(inspection, "gradient of each word's log p by them",
                 &InspectedMap::gradients);
  Maps maps;
  for (size_t i = 0; i < weights.size(); ++i) {
    maps.maps.push_back(weights[i]);
    if (i < gradients.size()) maps.maps.push_back(gradients[i]);
  }
  return maps;
}

std::string ErrorRateText(const Inspection& inspection) {
  return inspection.alignment_error_rate.has_value()
             ? absl::StrFormat(
                   "alignment error rate %.3f against %d gold links",
                   *inspection.alignment_error_rate, inspection.gold.size())
             : "no gold alignment is known for this pair";
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
  const EncoderDecoder<float>& model = translator.model();
  const int32_t lengths[] = {static_cast<int32_t>(source_ids.size())};
  inspection.steps = InspectAttention<float>(
      *model.decoder, forward,
      [&](Forward<float>& step) {
        return model.encoder->Encode(step, source_ids, lengths);
      },
      target_ids);
  inspection.gold = gold;
  if (!gold.empty()) {
    std::vector<float> weights;
    for (const InspectedStep& step : inspection.steps) {
      weights.insert(weights.end(), step.alignment.begin(),
                     step.alignment.end());
    }
    // The words that the model read, without <eos>.
    const size_t rows = std::min(target.size(), target_ids.size());
    const size_t columns = std::min(source.size(), source_ids.size());
    AlignmentErrorRate rate;
    rate.Add(GreatestLinks(weights, static_cast<int>(source_ids.size()),
                           static_cast<int>(rows), static_cast<int>(columns)),
             gold);
    inspection.alignment_error_rate = rate.Rate();
  }
  return inspection;
}

Section AttentionSection(absl::Span<const Inspection> inspections) {
  Section section = {"Attention", {AttentionCaution(), kGradientsMeaning}};
  for (const Inspection& inspection : inspections) {
    section.blocks.push_back(
        Heading{absl::StrCat(absl::StrJoin(inspection.source, " "), " \u2192 ",
                             absl::StrJoin(inspection.target, " "))});
    section.blocks.push_back(absl::StrFormat(
        "Log probability of the whole %.3f; mean entropy of a step %.3f nats; "
        "%s.",
        LogProbability(inspection), MeanEntropy(inspection),
        ErrorRateText(inspection)));
    section.blocks.push_back(MapsOf(inspection));
    section.blocks.push_back(Folded{"Each step", StepsTable(inspection),
                                    &inspection == inspections.data()});
  }
  return section;
}

std::string InspectionText(const Inspection& inspection,
                           const AlignmentTextStyle& style) {
  // The mean of all heads.
  LabelledMatrix weights;
  for (LabelledMatrix& matrix : WeightsOf(inspection)) {
    weights.rows = std::move(matrix.rows);
    weights.columns = std::move(matrix.columns);
    weights.gold = std::move(matrix.gold);
    std::move(matrix.heads.begin(), matrix.heads.end(),
              std::back_inserter(weights.heads));
  }
  std::string text = AlignmentText(weights, style);
  absl::StrAppend(&text, "\n",
                  TableText(StepsTable(inspection), /*most_columns=*/20));
  absl::StrAppendFormat(
      &text,
      "\nlog p of the whole %.3f; %s\n"
      "entropy in nats; gains and losses are d log p / d weight\n",
      LogProbability(inspection), ErrorRateText(inspection));
  return text;
}

std::string InspectionHtml(const Inspection& inspection,
                           const std::string& name) {
  return ReportHtml(
      {.title = absl::StrCat(name, ": attention"),
       .summary = "What the model attends to at each step of one translation",
       .sections = {AttentionSection({inspection})}});
}

}  // namespace regard
