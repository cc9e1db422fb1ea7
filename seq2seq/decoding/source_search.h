// The state of a search for one source.
#ifndef SEQ2SEQ_DECODING_SOURCE_SEARCH_H_
#define SEQ2SEQ_DECODING_SOURCE_SEARCH_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "seq2seq/decoding/search_trace.h"

namespace regard {

struct SourceSearchState {
  size_t index = 0;                       // index among all sources
  uint64_t key = 0;                       // SourceSearchInputs::key
  absl::Span<const int32_t> prompt = {};  // not empty
  absl::Span<const int32_t> read = {};    // ids read before the first choice
  int64_t most = 0;                       // maximum number of choices

  absl::Span<TracedHypothesis> beams = {};  // the first `num_beams` continue
  int64_t num_beams = 1;
  BestEndedHypotheses ended = {};
  int64_t first_step = 0;   // the first step that chose an id
  int64_t last_step = -1;   // the last step that chose an id, or -1
  int64_t memory_size = 0;  // number of positions

  // The index of the source's first row in the current step.
  int64_t first_row = 0;
  // The scores of each row's continuations, [rows, vocabulary].
  float* scores = nullptr;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SOURCE_SEARCH_H_
