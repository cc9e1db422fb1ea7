// Sequences of token ids as the rows of a matrix, padded to the length of the
// longest sequence.
#ifndef SEQ2SEQ_PADDED_IDS_H_
#define SEQ2SEQ_PADDED_IDS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "autodiff/arena.h"

namespace regard {

// A matrix of ids in the arena of a step.
struct PaddedIds {
  int64_t rows = 0;
  int64_t time = 0;
  absl::Span<int32_t> ids = {};      // [rows, time]
  absl::Span<int32_t> lengths = {};  // [rows]: valid ids of each row

  // Appends ids to a row. Fails a check if they do not fit.
  void Append(int64_t row, absl::Span<const int32_t> more);
};

// Returns empty sequences with space for `time` ids each.
PaddedIds EmptyRows(int64_t rows, int64_t time, int32_t pad, Arena& arena);

using SequenceOfRow = absl::FunctionRef<absl::Span<const int32_t>(int64_t row)>;

PaddedIds PadSequences(int64_t rows, int32_t pad, Arena& arena,
                       SequenceOfRow sequence);

// The ids that a decoder reads at once in teacher forcing, and their targets.
struct DecoderBatch {
  PaddedIds input;
  absl::Span<int32_t> target;  // [rows, time]: the id after each input id
};

// Returns a batch whose input is `begin` followed by each target without its
// last id. Targets must not be empty.
DecoderBatch TeacherForcingBatch(int64_t rows, int32_t begin, int32_t pad,
                                 Arena& arena, SequenceOfRow target);

}  // namespace regard

#endif  // SEQ2SEQ_PADDED_IDS_H_
