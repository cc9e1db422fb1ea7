// Corpus BLEU: Papineni et al., "BLEU: a method for automatic evaluation of
// machine translation", ACL 2002, with the tokenisation and smoothing of Post,
// "A call for clarity in reporting BLEU scores", WMT 2018. Scores equal
// sacreBLEU's.
#ifndef SEQ2SEQ_METRICS_BLEU_H_
#define SEQ2SEQ_METRICS_BLEU_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nn/evaluated_set.h"

namespace regard {

inline constexpr int kBleuOrders = 4;

enum class BleuTokenizer {
  k13a,   // mteval-v13a's: splits off punctuation, keeps numbers whole
  kNone,  // text is tokens between spaces already
};

// What stands in for an order without matches (Chen and Cherry, WMT 2014).
enum class BleuSmoothing {
  kNone,   // nothing: the score is 0
  kFloor,  // `smoothing_value` matches
  kAddK,   // `smoothing_value` more matches and n-grams in orders above 1
  kExp,    // 1/2 match in the first such order, 1/4 in the next, ...
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::k13a;
  BleuSmoothing smoothing = BleuSmoothing::kExp;
  double smoothing_value = 0.0;  // 0: the usual 0.1 of kFloor, 1 of kAddK
  // Averages over the orders that the predictions are long enough for. For
  // single sentences.
  bool effective_order = false;
};

struct BleuScore {
  double score = 0.0;  // 0 to 100
  // For orders 1 to 4, before smoothing.
  std::array<int64_t, kBleuOrders> matches = {};
  std::array<int64_t, kBleuOrders> totals = {};
  std::array<double, kBleuOrders> precisions = {};  // percent, smoothed
  double brevity_penalty = 1.0;
  int64_t prediction_length = 0;  // tokens
  int64_t reference_length = 0;
};

// The tokens that mteval-v13a makes of a sentence.
std::vector<std::string> Tokenize13a(absl::string_view sentence);

// Of a sentence with at least one reference: tokens of the prediction and of
// the reference that is nearest in length, then matches and then totals of
// orders 1 to 4. Those of a corpus are the sums over its sentences.
inline constexpr int kBleuStatistics = 2 + 2 * kBleuOrders;
std::array<double, kBleuStatistics> BleuStatistics(
    const std::string& prediction, absl::Span<const std::string> references,
    BleuTokenizer tokenizer);

BleuScore BleuOfSums(absl::Span<const double> sums,
                     const BleuOptions& options = {});

double DefaultBleuOfSums(absl::Span<const double> sums);

// The score with the default smoothing.
inline constexpr Aggregate kBleu = {"bleu", kBleuStatistics,
                                    &DefaultBleuOfSums};

// `references[i]`, at least one, are the references of `predictions[i]`.
BleuScore CorpusBleu(absl::Span<const std::string> predictions,
                     absl::Span<const std::vector<std::string>> references,
                     const BleuOptions& options = {});

// How a score was computed, in sacreBLEU's form, to be printed beside it:
// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regard-1".
// `references_each` 0 stands for numbers that vary.
std::string BleuSignature(const BleuOptions& options, int references_each = 1);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_BLEU_H_
