#include "experiments/gold_alignment.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "experiments/translation_task.h"

namespace regard {

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

}  // namespace regard
