#include "experiments/inspection.h"

#include <algorithm>
#include <utility>

#include "autodiff/tape.h"
#include "experiments/translation_task.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/translator.h"

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

}  // namespace

std::vector<AlignmentLink> GoldAlignment(
    const Experiment& config, const std::vector<std::string>& source,
    const std::vector<std::string>& target) {
  std::vector<AlignmentLink> links;
  const auto words = static_cast<int>(target.size());
  switch (config.data().source_case()) {
    case Data::kCopy:
      for (int u = 0; source == target && u < words; ++u) {
        links.push_back({.target = u, .source = u});
      }
      return links;
    case Data::kReverse: {
      const bool reversed = std::equal(source.rbegin(), source.rend(),
                                       target.begin(), target.end());
      for (int u = 0; reversed && u < words; ++u) {
        links.push_back({.target = u, .source = words - 1 - u});
      }
      return links;
    }
    case Data::kPhrasebook: {
      const absl::StatusOr<TranslationCorpus> corpus =
          LoadTranslationCorpus(config);
      if (!corpus.ok()) return links;
      const TranslationData& data = corpus->sentences;
      for (const auto* split :
           {&data.train, &data.dev, &data.test, &data.test_apart}) {
        for (const SentencePair& pair : *split) {
          if (pair.source == source && pair.target == target) {
            return pair.alignment;
          }
        }
      }
      return links;
    }
    default:
      return links;
  }
}

Inspection Inspect(TrainedTranslator& trained,
                   const std::vector<std::string>& source,
                   const std::vector<std::string>& target) {
  Translator& translator = *trained.translator;
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
  inspection.gold = GoldAlignment(trained.config, source, target);
  if (!inspection.gold.empty()) {
    AlignmentErrorRate rate;
    rate.Add(PredictedLinks(inspection), inspection.gold);
    inspection.alignment_error_rate = rate.Rate();
  }
  return inspection;
}

}  // namespace regard
