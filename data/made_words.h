// Limits the number of words that a source generates.
#ifndef DATA_MADE_WORDS_H_
#define DATA_MADE_WORDS_H_

#include <cstdint>

#include "absl/strings/str_format.h"
#include "options/config_problems.h"

namespace regard {

// The maximum number of words. Each word takes up to a hundred bytes, including
// its string and alignments.
inline constexpr int64_t kMaxMadeWords = int64_t{1} << 26;

// Adds a problem at `field`, the number of sentences, if there are too many
// words. `words` is a double, because it may be computed from values out of
// range.
inline void CheckWordCount(double words, const char* field,
                           ConfigProblems& problems) {
  if (words <= kMaxMadeWords) return;
  problems.Add(field,
               absl::StrFormat("makes up to %.0f words; at most %d are allowed",
                               words, kMaxMadeWords));
}

}  // namespace regard

#endif  // DATA_MADE_WORDS_H_
