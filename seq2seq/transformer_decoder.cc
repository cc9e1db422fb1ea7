#include "seq2seq/transformer_decoder.h"

#include <algorithm>

#include "attention/transformer/transformer.pb.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

template <typename T>
TransformerDecoder<T>::TransformerDecoder(const TransformerConfig& config,
                                          const AttentionRegistry& scorers,
                                          const Options& options,
                                          const ParameterScope<T>& scope)
    : recompute_(config.recompute()),
      alignment_({.layer = options.alignment.layer < 0
                               ? config.layers() - 1
                               : options.alignment.layer,
                  .head = options.alignment.head}),
      embedding_(config, options.vocabulary, scope, options.source_embedding),
      stack_(scorers, config, options.memory_width, scope),
      head_(config, embedding_.weight(), options.special_ids,
            scope.Sub("output")) {}

template <typename T>
DecoderState<T> TransformerDecoder<T>::Begin(Forward<T>& forward,
                                             const Memory<T>& memory) const {
  const NameScope<T> scope(forward.tape(), "decoder");
  DecoderState<T> state(forward.tape(), memory.sources, memory.lengths,
                        stack_.slots().size());
  if (!stack_.has_cross_attention() || !memory.values.has_value()) {
    return state;
  }
  REGARD_CHECK(memory.values.dim(1) <= longest_memory())
      << "a memory of " << memory.values.dim(1)
      << " positions; the attention knows " << longest_memory();
  stack_.StoreMemories(forward, memory.values, &state);
  return state;
}

template <typename T>
Var<T> TransformerDecoder<T>::Advance(Forward<T>& forward,
                                      absl::Span<const int32_t> ids,
                                      absl::Span<const int32_t> /*lengths*/,
                                      DecoderState<T>* state) const {
  Tape<T>& tape = forward.tape();
  const NameScope<T> scope(tape, "decoder");
  const int64_t rows = state->rows();
  const int64_t time = static_cast<int64_t>(ids.size()) / rows;
  const int64_t first = state->position();
  REGARD_CHECK(time > 0 && time * rows == static_cast<int64_t>(ids.size()))
      << ids.size() << " ids for " << rows << " rows";
  REGARD_CHECK(time == 1 || state->rows_per_source() == 1)
      << time << " ids at once for " << state->rows_per_source()
      << " rows a source";
  const Var<T> x = embedding_(forward, ids, rows, first);

  LayerInputs<T> inputs;
  inputs.mask.causal = true;
  inputs.positions.first_query = first;
  inputs.memory_mask.key_lengths = state->lengths();
  // In a step of one id, the rows of a source are alternatives for the same
  // position.
  inputs.memory_positions = {.first_query = first,
                             .query_step = time == 1 ? 0 : 1};
  const bool recomputes =
      recompute_ && x.needs_grad() && first == 0 && time > 1;
  if (!recomputes) inputs.state = state;
  const Var<T> readout =
      stack_(forward, x, inputs, stack_.StoredMemories(tape, *state));
  state->AdvancePosition(time);
  return readout;
}

template <typename T>
int64_t TransformerDecoder<T>::longest_position() const {
  return std::min(embedding_.longest_position(), stack_.longest_position());
}

template <typename T>
int64_t TransformerDecoder<T>::longest_memory() const {
  return stack_.longest_memory();
}

REGARD_INSTANTIATE_CLASS(TransformerDecoder);

}  // namespace regard
