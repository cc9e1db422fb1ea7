// Sentences as ids, and a padded batch of them.
#ifndef SEQ2SEQ_BATCH_H_
#define SEQ2SEQ_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "data/parallel_corpus.h"

namespace regard {

// A pair of sentences in ids, each ending in <eos> unless it was cut.
struct EncodedPair {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// A batch in the arena of a step; rows are sentences, padded with <pad> to the
// longest.
struct Batch {
  int64_t size = 0;
  int64_t source_time = 0;
  int64_t target_time = 0;
  absl::Span<const int32_t> source;          // [batch, source time]
  absl::Span<const int32_t> source_lengths;  // [batch], <eos> included
  // [batch, target time]: <bos> and the target without its last id.
  absl::Span<const int32_t> target_input;
  absl::Span<const int32_t> target;          // [batch, target time]
  absl::Span<const int32_t> target_lengths;  // [batch]
};

// Of the pairs that `examples` name.
Batch MakeBatch(absl::Span<const EncodedPair> pairs,
                absl::Span<const int64_t> examples, Arena& arena);
Batch MakeBatch(const ParallelCorpus& corpus,
                absl::Span<const int64_t> examples, Arena& arena);

}  // namespace regard

#endif  // SEQ2SEQ_BATCH_H_
