// Sequences of token ids as the rows of a matrix, padded to the longest.
#ifndef SEQ2SEQ_PADDED_IDS_H_
#define SEQ2SEQ_PADDED_IDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

// In the arena of a step.
struct PaddedIds {
  int64_t rows = 0;
  int64_t time = 0;
  absl::Span<int32_t> ids = {};      // [rows, time]
  absl::Span<int32_t> lengths = {};  // [rows]: valid ids of each

  // Appends to a sequence, which has room.
  void Append(int64_t row, absl::Span<const int32_t> more);
};

// Empty sequences with room for `time` ids each.
PaddedIds EmptyRows(int64_t rows, int64_t time, int32_t pad, Arena& arena);

using SequenceOfRow = absl::FunctionRef<absl::Span<const int32_t>(int64_t row)>;

PaddedIds Pad(int64_t rows, int32_t pad, Arena& arena, SequenceOfRow sequence);

// What a decoder reads at once in teacher forcing.
struct DecoderBatch {
  PaddedIds input;
  absl::Span<int32_t> target;  // [rows, time]: the id after each of the input
};

// The input is each target, which is not empty, without its last id, after
// `begin`.
DecoderBatch TeacherForcing(int64_t rows, int32_t begin, int32_t pad,
                            Arena& arena, SequenceOfRow target);

}  // namespace regard

#endif  // SEQ2SEQ_PADDED_IDS_H_
