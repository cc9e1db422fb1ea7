// Sentences as ids, and a padded batch of them.
#ifndef SEQ2SEQ_BATCH_H_
#define SEQ2SEQ_BATCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "data/parallel_corpus.h"
#include "seq2seq/padded_ids.h"

namespace regard {

// A pair of sentences in ids, each ending in <eos> unless it was cut.
struct EncodedPair {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

// The rows are sentences, padded with <pad>; lengths include <eos>.
struct Batch : DecoderBatch {
  PaddedIds source;
};

// Puts the pairs that `examples` name in a batch.
Batch MakeBatch(absl::Span<const EncodedPair> pairs,
                absl::Span<const int64_t> examples, Arena& arena);
Batch MakeBatch(const ParallelCorpus& corpus,
                absl::Span<const int64_t> examples, Arena& arena);

}  // namespace regard

#endif  // SEQ2SEQ_BATCH_H_
