// How many words a source of made sentences may make.
#ifndef DATA_MADE_WORDS_H_
#define DATA_MADE_WORDS_H_

#include <cstdint>

#include "absl/strings/str_format.h"
#include "options/config_problems.h"

namespace regard {

// Each takes up to a hundred bytes, with its string and what is aligned to it.
inline constexpr int64_t kMostMadeWords = int64_t{1} << 26;

// Adds a problem at `field`, the number of sentences, if there may be more. A
// double, since sizes out of their ranges get here, too.
inline void RefuseTooManyWords(double words, const char* field,
                               ConfigProblems& problems) {
  if (words <= kMostMadeWords) return;
  problems.Add(field,
               absl::StrFormat("makes up to %.0f words; at most %d are allowed",
                               words, kMostMadeWords));
}

}  // namespace regard

#endif  // DATA_MADE_WORDS_H_
