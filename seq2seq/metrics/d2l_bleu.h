// The sentence score of "Dive into Deep Learning" (Zhang et al., section on
// sequence-to-sequence learning). It is not corpus BLEU: see bleu.h for that.
//
//   exp(min(0, 1 - len_label / len_prediction)) * prod_{n=1..k} p_n^(1/2^n)
//
// p_n is the share of the prediction's n-grams that the label has too.
#ifndef SEQ2SEQ_METRICS_D2L_BLEU_H_
#define SEQ2SEQ_METRICS_D2L_BLEU_H_

#include <string>

#include "absl/types/span.h"

namespace regard {

// In [0, 1]. `max_order` is the formula's k; the published tables use 2. A
// prediction shorter than k has p_k = 0 (edition 0.17; edition 1.0 lowers k to
// the prediction's length). An empty prediction scores 0.
double D2lBleu(absl::Span<const std::string> prediction,
               absl::Span<const std::string> label, int max_order = 2);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_D2L_BLEU_H_
