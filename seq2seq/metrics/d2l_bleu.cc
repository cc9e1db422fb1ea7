#include "seq2seq/metrics/d2l_bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "seq2seq/metrics/ngrams.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

double D2lBleu(absl::Span<const std::string> prediction,
               absl::Span<const std::string> label, int max_order) {
  REGARD_CHECK_GE(max_order, 1);
  const UnitSequence predicted = UnitSequence::Words(prediction);
  const UnitSequence wanted = UnitSequence::Words(label);
  if (predicted.size() < max_order) return 0.0;
  double score =
      std::exp(std::min(0.0, 1.0 - static_cast<double>(wanted.size()) /
                                       static_cast<double>(predicted.size())));
  for (int order = 1; order <= max_order; ++order) {
    const int64_t matches =
        SharedNgrams(CountNgrams(predicted, order), CountNgrams(wanted, order));
    const double precision = static_cast<double>(matches) /
                             static_cast<double>(NumNgrams(predicted, order));
    score *= std::pow(precision, std::exp2(-order));
  }
  return score;
}

}  // namespace regard
