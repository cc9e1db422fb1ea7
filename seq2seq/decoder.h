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

// Attention weights of one layer.
template <typename T>
struct AttentionMap {
  const char* name;  // "attention"; lives as long as the decoder
  // Whether the keys are positions of the memory; else ids read so far.
  bool over_memory;
  // Over the memory [sources, heads, queries, keys], where queries are the
  // positions of one row, or the rows of a source at one position; over ids
  // [rows, heads, positions, keys].
  Var<T> weights;
};

template <typename T>
struct DecoderOutput {
  Var<T> readout;  // [rows, n, width]: what the output head reads
  // In the order of layers; empty unless asked for.
  absl::Span<const AttentionMap<T>> maps;
};

// Which map over the memory is the alignment.
struct AlignmentChoice {
  int64_t layer = -1;  // among the maps over the memory; -1: the last
  int64_t head = -1;   // -1: the mean over heads
};

struct AdvanceOptions {
  bool want_maps = false;
  // Whether weights get gradients in the backward pass. Where several positions
  // are read at once, a decoder may leave them out.
  bool want_map_gradients = false;
  // How many ids of each row count, [rows], in falling order; empty: all. Where
  // a row has no more, a decoder may stop to compute it: its readouts are then
  // any finite numbers, and the state has fewer sources at the end. Not
  // together with maps.
  absl::Span<const int32_t> lengths = {};
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
  // every bit.
  virtual DecoderOutput<T> Advance(Forward<T>& forward,
                                   absl::Span<const int32_t> ids,
                                   const AdvanceOptions& options,
                                   DecoderState<T>* state) const = 0;

  // Teacher forcing: reads all `ids` of each source at once, [sources, n]. The
  // readout is [sources, n, width].
  DecoderOutput<T> Run(Forward<T>& forward, const Memory<T>& memory,
                       absl::Span<const int32_t> ids,
                       const AdvanceOptions& options = {}) const {
    DecoderState<T> state = Begin(forward, memory);
    return Advance(forward, ids, options, &state);
  }

  virtual const OutputHead<T>& head() const = 0;

  // Ids that a row can have at most; more fail a check in Advance().
  virtual int64_t longest_position() const { return kUnlimited; }

  // Positions that a memory can have at most; more fail a check in Begin().
  virtual int64_t longest_memory() const { return kUnlimited; }

  virtual bool attends_to_memory() const { return false; }

  virtual AlignmentChoice alignment() const { return {}; }
};

// The weights of the chosen map over the memory: [sources, queries, keys],
// without gradient. Empty if there is no map over the memory.
template <typename T>
Var<T> MemoryAlignment(absl::Span<const AttentionMap<T>> maps,
                       const AlignmentChoice& choice = {});

}  // namespace regard

#endif  // SEQ2SEQ_DECODER_H_
