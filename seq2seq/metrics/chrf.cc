#include "seq2seq/metrics/chrf.h"

#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "seq2seq/metrics/ngrams.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr int kOrders = 6;
constexpr double kBetaSquared = 4.0;

struct OrderCounts {
  int64_t predicted = 0;  // n-grams
  int64_t wanted = 0;
  int64_t shared = 0;
};

using Counts = std::array<OrderCounts, kOrders>;

Counts CountShared(const std::string& prediction,
                   const std::string& reference) {
  const UnitSequence predicted = UnitSequence::Characters(prediction);
  const UnitSequence wanted = UnitSequence::Characters(reference);
  Counts counts;
  for (int order = 1; order <= kOrders; ++order) {
    OrderCounts& count = counts[order - 1];
    count.wanted = NumNgrams(wanted, order);
    // A reference too short for this order has no say in it.
    if (count.wanted == 0) continue;
    count.predicted = NumNgrams(predicted, order);
    count.shared =
        SharedNgrams(CountNgrams(predicted, order), CountNgrams(wanted, order));
  }
  return counts;
}

// F-score, in 0 to 100, of precision and recall averaged over the orders that
// both sides are long enough for.
double Score(const Counts& counts) {
  double precision = 0.0;
  double recall = 0.0;
  int orders = 0;
  for (const OrderCounts& count : counts) {
    if (count.predicted == 0 || count.wanted == 0) continue;
    const auto shared = static_cast<double>(count.shared);
    precision += shared / static_cast<double>(count.predicted);
    recall += shared / static_cast<double>(count.wanted);
    ++orders;
  }
  if (precision + recall == 0.0) return 0.0;
  precision /= orders;
  recall /= orders;
  return 100.0 * (1.0 + kBetaSquared) * precision * recall /
         (kBetaSquared * precision + recall);
}

Counts BestCounts(const std::string& prediction,
                  const std::vector<std::string>& references) {
  REGARD_CHECK(!references.empty()) << "a prediction without a reference";
  Counts best;
  double best_score = -1.0;
  for (const std::string& reference : references) {
    const Counts counts = CountShared(prediction, reference);
    const double score = Score(counts);
    if (score > best_score) {
      best_score = score;
      best = counts;
    }
  }
  return best;
}

}  // namespace

double CorpusChrf(absl::Span<const std::string> predictions,
                  absl::Span<const std::vector<std::string>> references) {
  REGARD_CHECK_EQ(predictions.size(), references.size());
  Counts sums;
  for (size_t i = 0; i < predictions.size(); ++i) {
    const Counts counts = BestCounts(predictions[i], references[i]);
    for (int order = 0; order < kOrders; ++order) {
      sums[order].predicted += counts[order].predicted;
      sums[order].wanted += counts[order].wanted;
      sums[order].shared += counts[order].shared;
    }
  }
  return Score(sums);
}

std::string ChrfSignature(int references_each) {
  return absl::StrCat(
      "nrefs:",
      references_each > 0 ? absl::StrCat(references_each) : std::string("var"),
      "|case:mixed|eff:yes|nc:6|nw:0|space:no|version:regard-1");
}

}  // namespace regard
