#include "seq2seq/metrics/chrf.h"

#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "seq2seq/metrics/ngrams.h"
#include "seq2seq/utf8.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

constexpr int kCharacterOrders = 6;
constexpr int kMostWordOrders = 4;
constexpr double kBetaSquared = 4.0;

struct OrderCounts {
  int64_t predicted = 0;  // n-grams
  int64_t wanted = 0;
  int64_t shared = 0;
};

// Of the orders of characters, then of words; unused ones stay 0.
using Counts = std::array<OrderCounts, kCharacterOrders + kMostWordOrders>;

OrderCounts CountOrder(const UnitSequence& predicted,
                       const UnitSequence& wanted, int order) {
  OrderCounts count;
  count.wanted = NumNgrams(wanted, order);
  // A reference that is too short for an order does not count for it.
  if (count.wanted == 0) return count;
  count.predicted = NumNgrams(predicted, order);
  count.shared =
      SharedNgrams(CountNgrams(predicted, order), CountNgrams(wanted, order));
  return count;
}

// Words, of which one mark of ASCII punctuation is split off: that at the end,
// else that at the beginning.
UnitSequence WordsAndMarks(const std::string& text) {
  std::vector<std::string> words;
  for (const absl::string_view word : SplitOnWhitespace(text)) {
    const auto add = [&](absl::string_view part) { words.emplace_back(part); };
    if (Characters(word).size() == 1) {
      add(word);
    } else if (absl::ascii_ispunct(word.back())) {
      add(word.substr(0, word.size() - 1));
      add(word.substr(word.size() - 1));
    } else if (absl::ascii_ispunct(word.front())) {
      add(word.substr(0, 1));
      add(word.substr(1));
    } else {
      add(word);
    }
  }
  return UnitSequence::Words(words);
}

Counts CountShared(const std::string& prediction, const std::string& reference,
                   int word_orders) {
  Counts counts;
  const UnitSequence predicted = UnitSequence::Characters(prediction);
  const UnitSequence wanted = UnitSequence::Characters(reference);
  for (int order = 1; order <= kCharacterOrders; ++order) {
    counts[order - 1] = CountOrder(predicted, wanted, order);
  }
  if (word_orders == 0) return counts;
  const UnitSequence predicted_words = WordsAndMarks(prediction);
  const UnitSequence wanted_words = WordsAndMarks(reference);
  for (int order = 1; order <= word_orders; ++order) {
    counts[kCharacterOrders + order - 1] =
        CountOrder(predicted_words, wanted_words, order);
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
                  const std::vector<std::string>& references, int word_orders) {
  REGARD_CHECK(!references.empty()) << "a prediction without a reference";
  Counts best;
  double best_score = -1.0;
  for (const std::string& reference : references) {
    const Counts counts = CountShared(prediction, reference, word_orders);
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
                  absl::Span<const std::vector<std::string>> references,
                  const ChrfOptions& options) {
  REGARD_CHECK_EQ(predictions.size(), references.size());
  REGARD_CHECK(options.word_order >= 0 && options.word_order <= kMostWordOrders)
      << options.word_order;
  Counts sums;
  for (size_t i = 0; i < predictions.size(); ++i) {
    const Counts counts =
        BestCounts(predictions[i], references[i], options.word_order);
    for (size_t order = 0; order < sums.size(); ++order) {
      sums[order].predicted += counts[order].predicted;
      sums[order].wanted += counts[order].wanted;
      sums[order].shared += counts[order].shared;
    }
  }
  return Score(sums);
}

std::string ChrfSignature(const ChrfOptions& options, int references_each) {
  return absl::StrCat(
      "nrefs:",
      references_each > 0 ? absl::StrCat(references_each) : std::string("var"),
      "|case:mixed|eff:yes|nc:", kCharacterOrders, "|nw:", options.word_order,
      "|space:no|version:regard-1");
}

}  // namespace regard
