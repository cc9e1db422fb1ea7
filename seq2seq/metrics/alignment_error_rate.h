// How far an attention is from the words that truly belong together.
//
// Och and Ney, "A Systematic Comparison of Various Statistical Alignment
// Models", Computational Linguistics 2003. All gold links are sure here, so
//   rate = 1 - 2 |predicted and gold| / (|predicted| + |gold|).
#ifndef SEQ2SEQ_METRICS_ALIGNMENT_ERROR_RATE_H_
#define SEQ2SEQ_METRICS_ALIGNMENT_ERROR_RATE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "data/sentence_pair.h"

namespace regard {

// Sums links over the corpus, not rates over sentences.
class AlignmentErrorRate {
 public:
  // Neither side holds a link twice; their order does not matter.
  void Add(absl::Span<const AlignmentLink> predicted,
           absl::Span<const AlignmentLink> gold);

  // In [0, 1], 0 being perfect; 0 too as long as there are no links at all.
  double Rate() const;

 private:
  int64_t predicted_ = 0;
  int64_t gold_ = 0;
  int64_t shared_ = 0;
};

// One link for each target word, to the source word with the greatest weight
// (the first of equals). `weights` is [rows, columns]: a row for each target
// word and a column for each source word first, then maybe those of <eos>. A
// word whose greatest weight is that of <eos>, or is not positive, has no link.
// This is the one definition of what attention predicts, also of sentences that
// were cut and have no <eos>.
std::vector<AlignmentLink> GreatestLinks(absl::Span<const float> weights,
                                         int columns, int target_words,
                                         int source_words);

// The baseline that has learned nothing: target word j belongs to source word
// round(j * source_length / target_length).
std::vector<AlignmentLink> DiagonalLinks(int target_length, int source_length);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_ALIGNMENT_ERROR_RATE_H_
