#include "experiments/report/inspection_report.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "data/sentence_pair.h"
#include "experiments/report/traced_maps.h"
#include "files/printable_text.h"
#include "seq2seq/metrics/alignment_error_rate.h"

namespace regard {

namespace {

constexpr char kGradientsMeaning[] =
    "The gradients next to the weights show how the log probability of the "
    "chosen word changes with each weight. All other weights stay fixed. If a "
    "gradient is positive, a larger weight would make the word more probable. "
    "In the table, a gain is a positive gradient, and a loss is a negative "
    "one. The entropy of the weights of a step is in nats. It is 0 if one word "
    "has all the attention.";

// Explains gradients if the outputs are not words.
constexpr char kOutputGradientsMeaning[] =
    "The gradients next to the weights show how the chosen output changes with "
    "each weight. All other weights stay fixed. If a gradient is positive, a "
    "larger weight would make the output larger. In the table, a gain is a "
    "positive gradient, and a loss is a negative one.";

// Returns the maps that a section shows: the maps over the memory if there are
// any, and all maps if not.
std::vector<const AttentionMap<float>*> ShownMaps(
    const Inspection<float>& inspection) {
  std::vector<const AttentionMap<float>*> over_memory;
  std::vector<const AttentionMap<float>*> all;
  for (const AttentionMap<float>& map : inspection.maps) {
    if (map.over_memory) over_memory.push_back(&map);
    all.push_back(&map);
  }
  return over_memory.empty() ? all : over_memory;
}

// The weights of the alignment, and the gradients summed over all shown maps.
// Both are [queries, keys]. `keys` are labels.
struct OutputAlignment {
  std::vector<std::string> keys = {};
  std::vector<double> weights = {};
  std::vector<double> gradients = {};
};

OutputAlignment AlignmentOf(const Inspection<float>& inspection) {
  OutputAlignment alignment_of_outputs = {.weights =
                                              inspection.AlignmentWeights()};
  const AttentionMap<float>* const alignment = inspection.AlignmentMap();
  if (alignment == nullptr) return alignment_of_outputs;
  alignment_of_outputs.keys =
      inspection.labels.KeyLabels(alignment->site, alignment->shape[3]);
  for (const AttentionMap<float>& map : inspection.maps) {
    if (map.over_memory != alignment->over_memory || map.gradients.empty() ||
        map.shape[2] != alignment->shape[2] ||
        map.shape[3] != alignment->shape[3]) {
      continue;
    }
    alignment_of_outputs.gradients.resize(alignment_of_outputs.weights.size(),
                                          0);
    for (size_t i = 0; i < map.gradients.size(); ++i) {
      alignment_of_outputs
          .gradients[i % alignment_of_outputs.gradients.size()] +=
          map.gradients[i];
    }
  }
  return alignment_of_outputs;
}

// Returns the key with the largest `sign * numbers[key]`, or "" if there are no
// numbers. For gradients, returns "none" if no product is above 0.
std::string Greatest(const std::vector<std::string>& keys,
                     absl::Span<const double> numbers, double sign,
                     bool is_gradient) {
  if (numbers.empty()) return "";
  const auto chosen = std::ranges::max_element(
      numbers, {}, [sign](double number) { return sign * number; });
  if (is_gradient && sign * *chosen <= 0) return "none";
  return absl::StrFormat("%s %.3g", keys[chosen - numbers.begin()], *chosen);
}

double MeanEntropy(const Inspection<float>& inspection) {
  const OutputAlignment alignment_of_outputs = AlignmentOf(inspection);
  const auto& outputs = inspection.labels.outputs;
  double sum = 0;
  for (const TracedOutputLabel& output : outputs) {
    sum += Entropy(absl::MakeConstSpan(alignment_of_outputs.weights)
                       .subspan(static_cast<size_t>(output.position) *
                                    alignment_of_outputs.keys.size(),
                                alignment_of_outputs.keys.size()));
  }
  return sum / static_cast<double>(outputs.size());
}

// Returns the text for the chosen output, such as "Log probability of the whole
// -1.2".
std::string ChosenText(const Inspection<float>& inspection) {
  const TraceDescription& labels = inspection.labels;
  if (labels.outputs.empty()) return "";
  const std::string of =
      inspection.chosen == kAllOutputs
          ? labels.outputs.size() == 1 ? labels.outputs[0].name : "the whole"
          : labels.outputs[static_cast<size_t>(inspection.chosen)].name;
  return of == labels.output_unit
             ? absl::StrFormat("%s %.3f", of, inspection.ChosenOutputValue())
             : absl::StrFormat("%s of %s %.3f", labels.output_unit, of,
                               inspection.ChosenOutputValue());
}

bool HasLooks(const Inspection<float>& inspection) {
  const auto& outputs = inspection.labels.outputs;
  return inspection.AlignmentMap() != nullptr && !outputs.empty() &&
         outputs.front().position >= 0;
}

}  // namespace

Table OutputsTable(const Inspection<float>& inspection) {
  const TraceDescription& labels = inspection.labels;
  const bool looks_somewhere = HasLooks(inspection);
  Table table = {{labels.successive ? "word" : "output", labels.output_unit}};
  OutputAlignment alignment_of_outputs;
  if (looks_somewhere) {
    alignment_of_outputs = AlignmentOf(inspection);
    for (const char* name :
         {"entropy", "largest weight", "largest gain", "largest loss"}) {
      table.header.push_back(name);
    }
  }
  for (size_t i = 0; i < labels.outputs.size(); ++i) {
    const TracedOutputLabel& output = labels.outputs[i];
    std::vector<std::string> row = {
        output.name, absl::StrFormat("%.3f", inspection.outputs[i])};
    if (looks_somewhere) {
      const size_t keys = alignment_of_outputs.keys.size();
      const auto row_of = [&](const std::vector<double>& numbers) {
        return numbers.empty()
                   ? absl::Span<const double>()
                   : absl::MakeConstSpan(numbers).subspan(
                         static_cast<size_t>(output.position) * keys, keys);
      };
      const auto weights = row_of(alignment_of_outputs.weights);
      const auto gradients = row_of(alignment_of_outputs.gradients);
      row.push_back(absl::StrFormat("%.3f", Entropy(weights)));
      row.push_back(Greatest(alignment_of_outputs.keys, weights, 1, false));
      row.push_back(Greatest(alignment_of_outputs.keys, gradients, 1, true));
      row.push_back(Greatest(alignment_of_outputs.keys, gradients, -1, true));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ErrorRateText(const Inspection<float>& inspection) {
  const TraceDescription& labels = inspection.labels;
  const AttentionMap<float>* const map = inspection.AlignmentMap();
  if (map == nullptr || !map->over_memory || !labels.successive) return "";
  const SiteSequences* const of = labels.Find(map->site);
  if (of == nullptr || labels.sequences[of->keys].image.has_value()) return "";
  if (labels.gold.empty()) return "no gold alignment is known for this pair";
  std::vector<AlignmentLink> gold;
  for (const TraceDescription::Link& link : labels.gold) {
    gold.push_back({.target = link.query, .source = link.key});
  }
  const std::vector<double> alignment = inspection.AlignmentWeights();
  // Does not count the final <eos>, which is missing if a length limit has
  // truncated the text.
  const auto words = [](const std::vector<std::string>& all) {
    return static_cast<int>(all.size()) - (all.back() == "<eos>" ? 1 : 0);
  };
  const std::vector<std::string> keys =
      labels.KeyLabels(map->site, map->shape[3]);
  AlignmentErrorRate rate;
  rate.Add(
      MaxWeightLinks(std::vector<float>(alignment.begin(), alignment.end()),
                     static_cast<int>(keys.size()),
                     words(labels.QueryLabels(map->site, map->shape[2])),
                     words(keys)),
      gold);
  return absl::StrFormat("alignment error rate %.3f against %d gold alignments",
                         rate.Rate(), gold.size());
}

Section AttentionSection(absl::Span<const Inspection<float>> inspections) {
  const bool words = std::ranges::all_of(
      inspections,
      [](const auto& inspection) { return inspection.labels.successive; });
  Section section = {"Attention",
                     {AttentionCaution(),
                      words ? kGradientsMeaning : kOutputGradientsMeaning}};
  for (const Inspection<float>& inspection : inspections) {
    const TraceDescription& labels = inspection.labels;
    std::vector<std::string> facts;
    const std::string read = absl::StrJoin(labels.sequences[0].labels, " ");
    const std::string& written =
        labels.successive
            ? absl::StrJoin(labels.sequences[labels.writer].query_labels(), " ")
            : labels.prediction;
    section.blocks.push_back(Heading{
        labels.successive && labels.writer > 0
            ? absl::StrCat(read, " \u2192 ", written)
            : absl::StrCat(labels.input, " \u2192 ", labels.prediction)});
    if (const std::string chosen = ChosenText(inspection); !chosen.empty()) {
      facts.push_back(chosen);
    }
    if (HasLooks(inspection)) {
      facts.push_back(absl::StrFormat("mean entropy per step %.3f nats",
                                      MeanEntropy(inspection)));
    }
    if (std::string rate = ErrorRateText(inspection); !rate.empty()) {
      facts.push_back(std::move(rate));
    }
    if (!facts.empty()) {
      section.blocks.push_back(absl::StrCat(absl::StrJoin(facts, "; "), "."));
    }
    Maps maps;
    const auto shown = ShownMaps(inspection);
    for (const AttentionMap<float>* const map : shown) {
      const auto titled = [&](LabelledMatrix matrix, const char* title) {
        matrix.title = absl::StrCat(title, ", ", map->site);
        matrix.site.clear();
        maps.maps.push_back(std::move(matrix));
      };
      titled(WeightsOf(labels, *map),
             labels.successive ? "weights of each step" : "weights");
      if (map->gradients.empty()) continue;
      titled(GradientsOf(labels, *map),
             labels.successive ? "gradient of each word's log probability"
                               : "gradient");
    }
    section.blocks.push_back(std::move(maps));
    if (!labels.outputs.empty()) {
      section.blocks.push_back(CollapsibleBlock{
          labels.successive ? "Each step" : "Each output",
          OutputsTable(inspection), &inspection == inspections.data()});
    }
  }
  return section;
}

std::string InspectionText(const Inspection<float>& inspection,
                           const AlignmentTextStyle& style) {
  const TraceDescription& labels = inspection.labels;
  std::string text = absl::StrCat(
      PrintableText(
          labels.successive && labels.writer > 0
              ? absl::StrJoin(labels.sequences[labels.writer].query_labels(),
                              " ")
              : absl::StrCat(labels.input, " \u2192 ", labels.prediction)),
      "\n");
  const bool alignment_of_outputs = HasLooks(inspection);
  if (alignment_of_outputs && labels.successive) {
    // Computes the mean over all heads of the shown maps.
    LabelledMatrix weights;
    std::vector<std::string> sites;
    for (const AttentionMap<float>* const map : ShownMaps(inspection)) {
      if (map->over_memory != inspection.AlignmentMap()->over_memory) continue;
      LabelledMatrix of_map = WeightsOf(labels, *map);
      of_map.heads.insert(of_map.heads.begin(), weights.heads.begin(),
                          weights.heads.end());
      weights = std::move(of_map);
      std::string site = AllLayersPattern(map->site);
      if (sites.empty() || sites.back() != site) {
        sites.push_back(std::move(site));
      }
    }
    absl::StrAppend(
        &text, "\n", weights.heads.size() > 1 ? "mean over heads of " : "",
        absl::StrJoin(sites, ", "), "\n", AlignmentText(weights, style));
  }
  if (!labels.outputs.empty()) {
    absl::StrAppend(&text, "\n",
                    TableText(OutputsTable(inspection), /*most_columns=*/20),
                    "\n", ChosenText(inspection));
    if (const std::string rate = ErrorRateText(inspection); !rate.empty()) {
      absl::StrAppend(&text, "; ", rate);
    }
    absl::StrAppend(&text, "\n");
  }
  if (alignment_of_outputs) {
    absl::StrAppendFormat(
        &text,
        "entropy in nats; gains and losses: gradients of %s with respect to "
        "weights\n",
        labels.output_unit);
  }
  return text;
}

}  // namespace regard
