// The interface of models that generate token ids one after another: recurrent
// decoders, Transformer decoders, language models and captioners. Training,
// search and inspection depend only on this interface.
#ifndef SEQ2SEQ_DECODER_H_
#define SEQ2SEQ_DECODER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "attention/positions.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/memory.h"
#include "seq2seq/output_head.h"

namespace regard {

// The cross-attention layer and head whose weights serve as the alignment.
struct AlignmentChoice {
  int64_t layer = -1;  // -1: the last layer
  int64_t head = -1;   // -1: the mean over heads
};

template <typename T>
class Decoder {
 public:
  virtual ~Decoder() = default;

  // Returns the state before the first id, with one row for each source.
  virtual DecoderState<T> Begin(Forward<T>& forward,
                                const Memory<T>& memory) const = 0;

  // Reads the next n ids of each row, [rows, n], and advances `state`. Returns
  // the readout that the output head reads, [rows, n, width].
  //
  // n = 1 is one step. n > 1 requires one row per source. The ids are then a
  // prompt or, on a tape that records, a target (teacher forcing). Reading n
  // ids at once gives the same result as reading them one after another, up to
  // rounding where the kernels differ. The output of a row depends only on its
  // source and its ids and is bit-identical in any batch.
  //
  // `lengths` [rows], in descending order, contains the number of valid ids of
  // each row. Empty if all positions are valid. A decoder may stop computing a
  // row after its last valid id. The readouts after this id are then arbitrary
  // finite numbers, and the state may have fewer sources at the end.
  virtual Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                         absl::Span<const int32_t> lengths,
                         DecoderState<T>* state) const = 0;

  // Teacher forcing: reads all `ids` of each source at once, [sources, n].
  // Returns the readout, [sources, n, width].
  Var<T> Run(Forward<T>& forward, const Memory<T>& memory,
             absl::Span<const int32_t> ids,
             absl::Span<const int32_t> lengths = {}) const {
    DecoderState<T> state = Begin(forward, memory);
    return Advance(forward, ids, lengths, &state);
  }

  // The pattern that matches the hook points of the residual stream after each
  // layer. Empty if the decoder does not have these hook points.
  virtual const char* residual_sites() const { return ""; }
  // Returns the readout as if `residual`, the output of some layer, were the
  // output of the last layer.
  virtual Var<T> Finish(Forward<T>& /*forward*/, Var<T> residual) const {
    return residual;
  }

  virtual const OutputHead<T>& head() const = 0;

  // The maximum number of ids of a row. Advance() fails a check for more ids.
  virtual int64_t longest_position() const { return kUnlimited; }

  // The maximum number of positions of a memory. Begin() fails a check for a
  // longer memory.
  virtual int64_t longest_memory() const { return kUnlimited; }

  virtual bool attends_to_memory() const { return false; }

  virtual AlignmentChoice alignment() const { return {}; }
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODER_H_
