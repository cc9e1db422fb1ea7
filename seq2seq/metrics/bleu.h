// Corpus BLEU: Papineni et al., "BLEU: a method for automatic evaluation of
// machine translation", ACL 2002, with the tokenisation and smoothing of Post,
// "A call for clarity in reporting BLEU scores", WMT 2018. Scores equal
// sacreBLEU's.
#ifndef SEQ2SEQ_METRICS_BLEU_H_
#define SEQ2SEQ_METRICS_BLEU_H_

#include <array>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

inline constexpr int kBleuOrders = 4;

enum class BleuTokenizer {
  k13a,   // mteval-v13a's: splits off punctuation, keeps numbers whole
  kNone,  // text is tokens between spaces already
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

// From 0 to 100. An order without matches counts as 1/2 match, the next such
// order as 1/4, ... (Chen and Cherry, WMT 2014); without any match it is 0.
double BleuOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kBleu = {"bleu", kBleuStatistics, &BleuOfSums};

// How a score was computed, in sacreBLEU's form, to be printed beside it:
// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regard-1".
std::string BleuSignature(BleuTokenizer tokenizer, int references_each = 1);

// The sentence score of "Dive into Deep Learning" (Zhang et al., section on
// sequence-to-sequence learning), which is another number than BLEU:
//
//   exp(min(0, 1 - len_label / len_prediction)) * prod_{n=1..k} p_n^(1/2^n)
//
// p_n is the share of the prediction's n-grams that the label has too. In [0,
// 1]. `max_order` is the formula's k; the published tables use 2. A prediction
// shorter than k has p_k = 0 (edition 0.17; edition 1.0 lowers k to the
// prediction's length). An empty prediction scores 0.
double D2lBleu(absl::Span<const std::string> prediction,
               absl::Span<const std::string> label, int max_order = 2);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_BLEU_H_
