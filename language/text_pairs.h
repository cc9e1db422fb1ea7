// Pairs of segments of a text for next-sentence prediction, as in BERT's
// program create_pretraining_data.py (google-research/bert).
#ifndef LANGUAGE_TEXT_PAIRS_H_
#define LANGUAGE_TEXT_PAIRS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// Tokens begin .. end - 1 of a text.
struct TokenRange {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

struct SegmentPair {
  TokenRange first;
  TokenRange second;
  bool apart;  // whether `second` does not follow `first`
};

// The names of classes 0 and 1 of next-sentence prediction.
inline constexpr const char* kPairClasses[] = {"follows", "does not follow"};

// Makes the pairs of a text. Line i consists of tokens lines[i] .. lines[i + 1]
// - 1. Document i consists of lines documents[i] .. documents[i + 1] - 1. No
// line or document may be empty. Each list has one more element than there are
// lines or documents. `tokens` must be at least 2.
//
// Lines of a document form a chunk when they have at least `tokens` tokens, or
// when the document ends. A chunk is split at the end of a random line into
// `first` and `second`.
//
// With probability 1/2, `second` instead begins at a random line of another
// document. It has as many lines as the pair needs to reach `tokens` tokens,
// unless the document ends earlier. The lines of the chunk after `first` then
// begin the next chunk. A chunk of only one line cannot be split, so `second`
// always comes from another document. A pair longer than `tokens` loses tokens
// at random ends of its longer part.
//
// Lines of more than `tokens` / 2 tokens count as several lines. Unlike BERT's
// program, this function does not make some pairs shorter on purpose. If the
// text is a single document, lines outside the chunk replace lines of another
// document. If there are no such lines, `second` follows `first`, and a chunk
// of only one line makes no pair.
std::vector<SegmentPair> MakeTextPairs(absl::Span<const int64_t> lines,
                                       absl::Span<const int64_t> documents,
                                       int64_t tokens, uint64_t seed);

}  // namespace regard

#endif  // LANGUAGE_TEXT_PAIRS_H_
