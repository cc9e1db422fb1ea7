// The recurrent decoder of sequence-to-sequence models, with and without
// attention: a stack of GRU or LSTM layers.
//
// Bahdanau et al., "Neural machine translation by jointly learning to align and
// translate", 2015; Luong et al., "Effective approaches to attention-based
// neural machine translation", 2015.
#ifndef SEQ2SEQ_RECURRENT_RECURRENT_DECODER_H_
#define SEQ2SEQ_RECURRENT_RECURRENT_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "attention/attention_registry.h"
#include "autodiff/recurrent/recurrent.h"
#include "nn/forward.h"
#include "nn/initialization.pb.h"
#include "nn/initializers.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/recurrent.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/memory.h"
#include "seq2seq/output_head.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

class Attention;

// PYTORCH or XAVIER_UNIFORM.
inline WeightInitializer RecurrentWeights(Initialization choice) {
  if (choice == XAVIER_UNIFORM) return XavierUniform;
  return nullptr;
}

// The options of the layers that `config` describes, a RecurrentEncoderConfig
// or a RecurrentDecoderConfig.
template <typename Config>
RecurrentOptions RecurrentStack(const Config& config) {
  RecurrentOptions options = {
      .width = config.hidden(),
      .layers = config.layers(),
      .dropout = config.dropout(),
      .initialization = RecurrentWeights(config.initialization())};
  if (config.cell() == RecurrentConfig::LSTM) {
    options.cell = RecurrentCell::kLstm;
  } else if (config.reset_gate() == RecurrentConfig::RESET_BEFORE) {
    options.cell = RecurrentCell::kGruResetBefore;
  }
  return options;
}

// If a step reads what the step before made besides the recurrent state (its
// context, readout, attention weights or predicted word), ids are read one by
// one: by an attention whose query is PREVIOUS_STATE or whose score uses
// history, input_feeding and scheduled_sampling. Otherwise, all of them make
// one pass of the recurrent layers and one attention.
//
// Sites of a probe, in the latter case: "decoder/layer[k]/state"
// (nn/layers/recurrent.h), and those of the attention in "decoder"; in the
// former, of the id at position t: the same in "step[t]".
template <typename T>
class RecurrentDecoder : public Decoder<T> {
 public:
  struct Widths {
    int64_t memory;      // of the memory's values and summary
    int64_t vocabulary;  // of the target
  };

  // The configs have passed ValidateEncoderDecoder(); `attention` is read if
  // the context is ATTENTION. Parameters are "decoder.*" and "attention.*" in
  // `parameters`.
  RecurrentDecoder(const RecurrentDecoderConfig& config,
                   const Attention& attention, const AttentionRegistry& scorers,
                   const Widths& widths, const ParameterScope<T>& parameters);

  // Slots of the state. Attention weights are [rows, time].
  enum Slot {
    kKeys,    // prepared [sources, 1, time, prepared width]
    kValues,  // [sources, 1, time, memory width]
    // Of a context that is the same at each step, [sources, ..]: itself, if it
    // is read out as it is; its part of the first layer's input; and its part
    // of the attentional vector before the tanh.
    kContext,
    kContextGates,
    kContextReadout,
    kFeed,  // [rows, hidden], with input feeding
    kPreviousWeights,
    kCumulativeWeights,
    kStates,  // [rows, hidden], of StateSlot() onwards
    kNumSlots = kStates + kMaxRecurrentLayers * kMaxRecurrentStates,
  };
  // The slot of a layer's state; state 0 is its output.
  static constexpr int StateSlot(int layer, int state) {
    return kStates + layer * kMaxRecurrentStates + state;
  }

  DecoderState<T> Begin(Forward<T>& forward,
                        const Memory<T>& memory) const override;
  // On a tape in training, reads some of its predictions instead of `ids` where
  // config.scheduled_sampling says so.
  Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                 absl::Span<const int32_t> lengths,
                 DecoderState<T>* state) const override;
  const OutputHead<T>& head() const override { return *head_; }
  // As far as the attention knows the distance to the first source position,
  // and that of the last one to the first target position.
  int64_t longest_position() const override;
  int64_t longest_memory() const override { return longest_position(); }
  bool attends_to_memory() const override { return attention_ != nullptr; }

 private:
  struct Word {
    Var<T> embedding;  // [rows, embedding]; empty if no readout reads it
    // [rows, gates]: the part of the first layer's input that is of the word, a
    // fixed context and the bias.
    Var<T> projected;
  };

  void SetFixedContext(Forward<T>& forward, Var<T> context,
                       DecoderState<T>* state) const;
  Word ReadWords(Forward<T>& forward, absl::Span<const int32_t> ids,
                 const Shape& leading, DecoderState<T>* state) const;
  // Advance(), by one pass or one for each id.
  Var<T> AdvanceAtOnce(Forward<T>& forward, absl::Span<const int32_t> ids,
                       absl::Span<const int32_t> lengths,
                       DecoderState<T>* state) const;
  Var<T> AdvanceInSteps(Forward<T>& forward, absl::Span<const int32_t> ids,
                        absl::Span<const int32_t> lengths,
                        DecoderState<T>* state) const;
  // Where row i has lengths[i] ids.
  void DropEnded(absl::Span<const int32_t> lengths, int64_t time,
                 DecoderState<T>* state) const;
  // The readout, [rows, readout width].
  Var<T> AdvanceOne(Forward<T>& forward, const Word& word,
                    DecoderState<T>* state) const;
  // query [rows, hidden], or [rows, time, hidden] of successive positions.
  Attended<T> Attend(Forward<T>& forward, Var<T> query,
                     const DecoderState<T>& state) const;
  // `context` is that of the attention; empty if there is none.
  Var<T> Readout(Forward<T>& forward, Var<T> top, Var<T> context,
                 Var<T> embedding, const DecoderState<T>& state) const;
  RecurrentState<T> StateOf(const DecoderState<T>& state) const;
  void SetState(const RecurrentState<T>& recurrent,
                DecoderState<T>* state) const;
  bool reads_embedding() const {
    return config_.readout() == RecurrentDecoderConfig::STATE_CONTEXT_EMBEDDING;
  }
  // Whether a step reads what the step before made, besides its state.
  bool feeds_back() const {
    return config_.input_feeding() || config_.has_scheduled_sampling() ||
           (attention_ != nullptr &&
            (queries_before() || attention_->uses_history()));
  }
  // Whether the context enters the recurrence.
  bool queries_before() const {
    return config_.query() == RecurrentDecoderConfig::PREVIOUS_STATE;
  }

  const RecurrentDecoderConfig config_;
  const int64_t context_width_;  // 0 without context
  // The first layer reads the context, where it enters the recurrence, the word
  // from this column on, and what is fed back.
  const int64_t word_column_;
  std::unique_ptr<EmbeddingLayer<T>> embedding_;
  std::unique_ptr<AttentionLayer<T>> attention_;
  std::unique_ptr<Recurrent<T>> rnn_;
  std::unique_ptr<LinearLayer<T>> bridge_;       // initial_state: PROJECTED
  std::unique_ptr<LinearLayer<T>> attentional_;  // readout: ATTENTIONAL
  std::unique_ptr<OutputHead<T>> head_;
};

}  // namespace regard

#endif  // SEQ2SEQ_RECURRENT_RECURRENT_DECODER_H_
