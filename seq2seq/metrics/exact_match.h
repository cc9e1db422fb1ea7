// The share of predictions that are right in every word.
#ifndef SEQ2SEQ_METRICS_EXACT_MATCH_H_
#define SEQ2SEQ_METRICS_EXACT_MATCH_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace regard {

class ExactMatch {
 public:
  void Add(absl::Span<const std::string> prediction,
           absl::Span<const std::string> label);

  // In [0, 1]; 0 before the first sentence.
  double Share() const;

 private:
  int64_t sentences_ = 0;
  int64_t matches_ = 0;
};

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_EXACT_MATCH_H_
