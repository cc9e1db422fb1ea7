// The prefix-matching score of Olsson et al., "In-context learning and
// induction heads", 2022, which identifies induction heads. It measures how
// much attention a position gives to the tokens that followed earlier
// occurrences of its token.
#ifndef LANGUAGE_PREFIX_MATCHING_H_
#define LANGUAGE_PREFIX_MATCHING_H_

#include <cstdint>

#include "absl/types/span.h"
#include "language/language_model.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"

namespace regard {

// Adds to sums[head], for each position of `ids` whose token also occurs
// earlier, the weights of the keys directly after the earlier occurrences.
// Returns the number of such positions. `weights` is [heads, positions,
// positions].
int64_t AddPrefixMatching(absl::Span<const int32_t> ids,
                          absl::Span<const float> weights,
                          absl::Span<double> sums);

// Returns the prefix-matching score of the best head of any layer. The score is
// the mean of the weights of AddPrefixMatching() over all positions in `text`
// whose token also occurs earlier in the line. 0 if no token repeats in its
// line.
double PrefixMatching(const LanguageModel& model, Forward<float>& forward,
                      const EncodedText& text);

}  // namespace regard

#endif  // LANGUAGE_PREFIX_MATCHING_H_
