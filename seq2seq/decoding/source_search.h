// The state of a search for one source.
#ifndef SEQ2SEQ_DECODING_SOURCE_SEARCH_H_
#define SEQ2SEQ_DECODING_SOURCE_SEARCH_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "seq2seq/decoding/search_trace.h"

namespace regard {

struct SourceSearch {
  size_t index = 0;                       // among all sources
  uint64_t key = 0;                       // SearchSource::key
  absl::Span<const int32_t> prompt = {};  // not empty
  absl::Span<const int32_t> read = {};    // of it, before the first choice
  int64_t most = 0;                       // choices of a hypothesis

  absl::Span<Partial> beams = {};  // the first `num_beams` live
  int64_t num_beams = 1;
  BestEnded ended = {};
  int64_t first_step = 0;   // that chose an id
  int64_t last_step = -1;   // the same; -1: none did
  int64_t memory_size = 0;  // positions

  // Of the current step: the first of its rows, and what follows each,
  // [rows, vocabulary].
  int64_t first_row = 0;
  float* scores = nullptr;
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_SOURCE_SEARCH_H_
