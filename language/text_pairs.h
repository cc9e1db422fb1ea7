// Pairs of pieces of a text for next-sentence prediction, as BERT's program
// makes them (create_pretraining_data.py of google-research/bert).
#ifndef LANGUAGE_TEXT_PAIRS_H_
#define LANGUAGE_TEXT_PAIRS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace regard {

// Tokens begin .. end - 1 of a text.
struct TextPiece {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end - begin; }
};

struct TextPair {
  TextPiece first;
  TextPiece second;
  bool apart;  // whether `second` does not follow `first`
};

// What is said of a pair, as class 0 and 1 of next-sentence prediction.
inline constexpr const char* kPairClasses[] = {"follows", "does not follow"};

// Line i of a text is its tokens lines[i] .. lines[i + 1] - 1, document i its
// lines documents[i] .. documents[i + 1] - 1; none is empty. Both have one
// element more than there are lines or documents.
//
// Lines of a document are packed until they have `tokens` tokens. Such a chunk
// is cut at a line's end: what is before is first; second is the rest or, with
// probability 1/2 and where there is no rest, as many tokens from a random line
// of another document on, and the rest begins the next chunk. Last, a pair that
// is longer than `tokens` loses tokens of its longer piece, at random ends.
// Lines of more than tokens / 2 count as several lines. Unlike BERT's program,
// none of the pairs are made shorter on purpose.
//
// Of a text that is one document, second is of any lines but the chunk's own.
// There is no pair where that leaves nothing. `tokens` is at least 2.
std::vector<TextPair> MakeTextPairs(absl::Span<const int64_t> lines,
                                    absl::Span<const int64_t> documents,
                                    int64_t tokens, uint64_t seed);

}  // namespace regard

#endif  // LANGUAGE_TEXT_PAIRS_H_
