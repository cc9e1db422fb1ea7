// Corpus BLEU, with the scores of sacreBLEU. Papineni et al., "BLEU: a method
// for automatic evaluation of machine translation", ACL 2002. The tokenization
// and smoothing follow Post, "A call for clarity in reporting BLEU scores",
// WMT 2018.
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
  k13a,   // mteval-v13a: splits off punctuation, keeps numbers whole
  kNone,  // the text is already tokens separated by spaces
};

// Returns the tokens of a sentence according to mteval-v13a.
std::vector<std::string> Tokenize13a(absl::string_view sentence);

inline constexpr int kBleuStatistics = 2 + 2 * kBleuOrders;
// Returns the statistics of a sentence with at least one reference:
// * The number of tokens of the prediction.
// * The number of tokens of the reference nearest in length.
// * For each n-gram order from 1 to 4, the number of matches.
// * For each n-gram order from 1 to 4, the number of n-grams of the prediction.
//
// The statistics of a corpus are the sums over its sentences.
std::array<double, kBleuStatistics> BleuStatistics(
    const std::string& prediction, absl::Span<const std::string> references,
    BleuTokenizer tokenizer);

// Returns BLEU in [0, 100] from summed statistics. An order without matches
// counts as 1/2 match, the next such order as 1/4, and so on (Chen and Cherry,
// WMT 2014). BLEU is 0 if no order matches, or if all predictions have fewer
// than 4 tokens.
double BleuOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kBleu = {"bleu", kBleuStatistics, &BleuOfSums};

// Returns a description of how a score was computed, in sacreBLEU's format, to
// be printed with the score:
// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regard-1".
std::string BleuSignature(BleuTokenizer tokenizer, int references_each = 1);

// Returns the sentence score of "Dive into Deep Learning" (Zhang et al.,
// section on sequence-to-sequence learning), in [0, 1]. It differs from BLEU:
//
//   exp(min(0, 1 - len_label / len_prediction)) * prod_{n=1..k} p_n^(1/2^n)
//
// Here p_n is the fraction of the prediction's n-grams that also occur in the
// label, and k is `max_order`. The published tables use k = 2. A prediction
// shorter than k has p_k = 0, as in edition 0.17. Edition 1.0 reduces k to the
// prediction's length. An empty prediction scores 0.
double D2lBleu(absl::Span<const std::string> prediction,
               absl::Span<const std::string> label, int max_order = 2);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_BLEU_H_
