#include "seq2seq/metrics/cider.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "seq2seq/metrics/ngrams.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int kOrders = 4;
// The scale of the Gaussian penalty on differences in length.
constexpr double kSigma = 6;

// The TF-IDF weights of the n-grams of a sentence, by order.
struct Weights {
  std::array<std::map<std::string, double>, kOrders> ngrams;
  std::array<double, kOrders> norms = {};
  // The number of bigrams, which pycocoevalcap uses as the length.
  double pairs = 0;
};

class Documents {
 public:
  explicit Documents(
      absl::Span<const std::vector<std::vector<std::string>>> references)
      : log_images_(std::log(static_cast<double>(references.size()))) {
    for (const auto& of_image : references) {
      std::set<std::string> seen;
      for (const std::vector<std::string>& reference : of_image) {
        for (int order = 1; order <= kOrders; ++order) {
          for (const auto& entry : CountNgrams(reference, order)) {
            seen.insert(entry.first);
          }
        }
      }
      for (const std::string& ngram : seen) ++images_[ngram];
    }
  }

  Weights Weigh(absl::Span<const std::string> words) const {
    Weights weights;
    for (int order = 1; order <= kOrders; ++order) {
      const auto of = static_cast<size_t>(order - 1);
      for (const auto& [ngram, count] : CountNgrams(words, order)) {
        const auto found = images_.find(ngram);
        const double images =
            found == images_.end() ? 1 : static_cast<double>(found->second);
        const double weight =
            static_cast<double>(count) * (log_images_ - std::log(images));
        weights.ngrams[of][ngram] = weight;
        weights.norms[of] += weight * weight;
      }
      weights.norms[of] = std::sqrt(weights.norms[of]);
    }
    weights.pairs = static_cast<double>(NumNgrams(words, 2));
    return weights;
  }

 private:
  const double log_images_;
  // For each n-gram, the number of images whose references contain it.
  std::map<std::string, int64_t> images_;
};

double Similarity(const Weights& prediction, const Weights& reference) {
  double similarity = 0;
  for (size_t of = 0; of < kOrders; ++of) {
    double product = 0;
    for (const auto& [ngram, weight] : prediction.ngrams[of]) {
      const auto found = reference.ngrams[of].find(ngram);
      if (found == reference.ngrams[of].end()) continue;
      product += std::min(weight, found->second) * found->second;
    }
    const double norms = prediction.norms[of] * reference.norms[of];
    if (norms != 0) similarity += product / norms;
  }
  const double difference = prediction.pairs - reference.pairs;
  return similarity / kOrders *
         std::exp(-difference * difference / (2 * kSigma * kSigma));
}

}  // namespace

std::vector<double> CiderD(
    absl::Span<const std::vector<std::string>> predictions,
    absl::Span<const std::vector<std::vector<std::string>>> references) {
  REGARD_CHECK_EQ(predictions.size(), references.size());
  const Documents documents(references);
  std::vector<double> scores;
  for (size_t i = 0; i < predictions.size(); ++i) {
    REGARD_CHECK(!references[i].empty()) << "a prediction without a reference";
    const Weights prediction = documents.Weigh(predictions[i]);
    double sum = 0;
    for (const std::vector<std::string>& reference : references[i]) {
      sum += Similarity(prediction, documents.Weigh(reference));
    }
    scores.push_back(10 * sum / static_cast<double>(references[i].size()));
  }
  return scores;
}

}  // namespace regard
