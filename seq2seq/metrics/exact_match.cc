#include "seq2seq/metrics/exact_match.h"

namespace regard {

void ExactMatch::Add(absl::Span<const std::string> prediction,
                     absl::Span<const std::string> label) {
  ++sentences_;
  if (prediction == label) ++matches_;
}

double ExactMatch::Share() const {
  if (sentences_ == 0) return 0.0;
  return static_cast<double>(matches_) / static_cast<double>(sentences_);
}

}  // namespace regard
