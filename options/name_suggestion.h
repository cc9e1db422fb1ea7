// The name that was meant by one that nothing has.
#ifndef OPTIONS_NAME_SUGGESTION_H_
#define OPTIONS_NAME_SUGGESTION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Insertions, deletions, substitutions and swaps of neighbours that turn `a`
// into `b` (optimal string alignment). With `wildcards`, a '*' in `a` stands
// for any characters, which cost nothing. Costs |a| |b|.
int EditDistance(absl::string_view a, absl::string_view b,
                 bool wildcards = false);

// "; did you mean 'optimizer'?" for the candidate nearest to `name`, letter
// case aside, or that ends in _`name`. When none is near, "; it can be ..."
// with all candidates if they are few, else "".
std::string SuggestName(absl::string_view name,
                        absl::Span<const std::string> candidates);

}  // namespace regard

#endif  // OPTIONS_NAME_SUGGESTION_H_
