// How much a language model looks for what followed a token before: the
// prefix-matching score of Olsson et al., "In-context learning and induction
// heads", 2022, by which induction heads are told.
#ifndef LANGUAGE_PREFIX_MATCHING_H_
#define LANGUAGE_PREFIX_MATCHING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "language/language_model.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"

namespace regard {

// Adds to sums[head], for each position of `ids` whose token stands earlier in
// it too, the weights of the keys that come directly after those earlier ones,
// and returns how many such positions there are.
// weights: [heads, positions, positions].
int64_t AddPrefixMatching(absl::Span<const int32_t> ids,
                          absl::Span<const float> weights,
                          absl::Span<double> sums);

// The mean of these sums over all such positions of the lines of `text`, of the
// head of any layer that has the greatest mean; 0 if there is no such position.
double PrefixMatching(const LanguageModel& model, Forward<float>& forward,
                      const EncodedText& text);

}  // namespace regard

#endif  // LANGUAGE_PREFIX_MATCHING_H_
