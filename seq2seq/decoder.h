// The interface of what generates token ids one after another: recurrent
// decoders, Transformer decoders, language models, captioners. Training, search
// and inspection know this interface alone.
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

// Which attention to the memory is the alignment.
struct AlignmentChoice {
  int64_t layer = -1;  // -1: the last
  int64_t head = -1;   // -1: the mean over heads
};

template <typename T>
class Decoder {
 public:
  virtual ~Decoder() = default;

  // The state before the first id, with one row for each source.
  virtual DecoderState<T> Begin(Forward<T>& forward,
                                const Memory<T>& memory) const = 0;

  // Reads the next n of each row's ids, [rows, n]. n = 1 is a step; n > 1, with
  // one row a source, is a prompt or, recorded, teacher forcing. Reading n ids
  // at once equals reading them one after another; bits may differ where the
  // kernels do. The output of a row depends on its source and its ids alone, in
  // every bit. Returns the readout, [rows, n, width]: what the head reads.
  //
  // `lengths`: how many ids of each row count, [rows], in falling order; empty:
  // all. Where a row has no more, a decoder may stop to compute it: its
  // readouts are then any finite numbers, and the state may have fewer sources
  // at the end.
  virtual Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                         absl::Span<const int32_t> lengths,
                         DecoderState<T>* state) const = 0;

  // Teacher forcing: reads all `ids` of each source at once, [sources, n]. The
  // readout is [sources, n, width].
  Var<T> Run(Forward<T>& forward, const Memory<T>& memory,
             absl::Span<const int32_t> ids,
             absl::Span<const int32_t> lengths = {}) const {
    DecoderState<T> state = Begin(forward, memory);
    return Advance(forward, ids, lengths, &state);
  }

  // The pattern of the sites that are what its layers leave; "": it has none.
  virtual const char* residual_sites() const { return ""; }
  // The readout if the decoder ended with what a layer leaves.
  virtual Var<T> Finish(Forward<T>& /*forward*/, Var<T> residual) const {
    return residual;
  }

  virtual const OutputHead<T>& head() const = 0;

  // Ids that a row can have at most; more fail a check in Advance().
  virtual int64_t longest_position() const { return kUnlimited; }

  // Positions that a memory can have at most; more fail a check in Begin().
  virtual int64_t longest_memory() const { return kUnlimited; }

  virtual bool attends_to_memory() const { return false; }

  virtual AlignmentChoice alignment() const { return {}; }
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODER_H_
