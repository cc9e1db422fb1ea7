// Suggests the name that the author of a misspelled name probably meant.
#ifndef OPTIONS_NAME_SUGGESTION_H_
#define OPTIONS_NAME_SUGGESTION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

// Returns the number of insertions, deletions, substitutions and swaps of
// neighbors that turn `a` into `b` (optimal string alignment). With
// `wildcards`, a '*' in `a` matches any characters at no cost. The time is
// O(|a| |b|).
int EditDistance(absl::string_view a, absl::string_view b,
                 bool wildcards = false);

// Returns "; did you mean 'optimizer'?" for the candidate nearest to `name`,
// ignoring case. A candidate that ends in _`name` also counts as near. If no
// candidate is near, returns "; it can be ..." with all candidates if there are
// few, and "" if there are many.
std::string SuggestName(absl::string_view name,
                        absl::Span<const std::string> candidates);

}  // namespace regard

#endif  // OPTIONS_NAME_SUGGESTION_H_
