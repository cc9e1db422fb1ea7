// Alignment error rate: the disagreement between an alignment derived from
// attention weights and the gold alignment.
//
// Och and Ney, "A Systematic Comparison of Various Statistical Alignment
// Models", Computational Linguistics 2003. All gold alignments count as sure,
// so
//   rate = 1 - 2 * |predicted and gold| / (|predicted| + |gold|).
#ifndef SEQ2SEQ_METRICS_ALIGNMENT_ERROR_RATE_H_
#define SEQ2SEQ_METRICS_ALIGNMENT_ERROR_RATE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "data/sentence_pair.h"

namespace regard {

// Computes the rate from the links of the whole corpus. It differs from the
// mean of the sentences' rates.
class AlignmentErrorRate {
 public:
  // Adds the links of a sentence. Each list contains a link at most once. The
  // order does not matter.
  void Add(absl::Span<const AlignmentLink> predicted,
           absl::Span<const AlignmentLink> gold);

  // Returns the rate in [0, 1], where 0 is perfect. Returns 0 if there are no
  // links.
  double Rate() const;

 private:
  int64_t predicted_ = 0;
  int64_t gold_ = 0;
  int64_t shared_ = 0;
};

// Returns one link for each target word, to the source word with the greatest
// weight. Ties go to the first word.
//
// `weights` is [rows, columns] with a row per target word. The first
// `source_words` columns belong to the source words, and later columns to <eos>
// or padding. A word has no link if its greatest weight is not positive or
// belongs to a later column. All metrics use this definition of the predicted
// alignment. It also applies to truncated sentences, which have no <eos>.
std::vector<AlignmentLink> MaxWeightLinks(absl::Span<const float> weights,
                                          int columns, int target_words,
                                          int source_words);

// Returns the links of an untrained baseline: target word j is linked to source
// word round(j * source_length / target_length).
std::vector<AlignmentLink> DiagonalLinks(int target_length, int source_length);

}  // namespace regard

#endif  // SEQ2SEQ_METRICS_ALIGNMENT_ERROR_RATE_H_
