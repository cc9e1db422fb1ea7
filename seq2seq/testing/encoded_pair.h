// Pairs of sentences as ids, for tests.
#ifndef SEQ2SEQ_TESTING_ENCODED_PAIR_H_
#define SEQ2SEQ_TESTING_ENCODED_PAIR_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "data/parallel_corpus.h"
#include "seq2seq/encoder_decoder.h"

namespace regard {

// A pair of sentences. Each side ends in <eos> unless it is truncated.
struct EncodedPair {
  std::vector<int32_t> source;
  std::vector<int32_t> target;
};

inline ParallelCorpus CorpusOf(absl::Span<const EncodedPair> pairs) {
  ParallelCorpus corpus;
  for (const EncodedPair& pair : pairs) corpus.Add(pair.source, pair.target);
  return corpus;
}

inline Batch MakeBatch(absl::Span<const EncodedPair> pairs,
                       absl::Span<const int64_t> examples, Arena& arena) {
  return MakeBatch(CorpusOf(pairs), examples, arena);
}

}  // namespace regard

#endif  // SEQ2SEQ_TESTING_ENCODED_PAIR_H_
