// The recurrent decoder of sequence-to-sequence models: a stack of GRU or LSTM
// layers, with or without attention.
//
// Bahdanau et al., "Neural machine translation by jointly learning to align and
// translate", 2015. Luong et al., "Effective approaches to attention-based
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

// Returns the weight initializer of `choice`, which is PYTORCH or
// XAVIER_UNIFORM.
inline WeightInitializer RecurrentWeights(Initialization choice) {
  if (choice == XAVIER_UNIFORM) return XavierUniform;
  return nullptr;
}

// Returns the options of the layers that `config` describes. `config` is a
// RecurrentEncoderConfig or a RecurrentDecoderConfig.
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

// A recurrent decoder that reads ids either one by one or all at once. It reads
// them one by one if a step depends on more than the recurrent state of the
// previous step:
// * With input_feeding.
// * With scheduled_sampling.
// * With an attention whose `query` is PREVIOUS_STATE.
// * With a score that uses history.
//
// In all other cases, the recurrent layers and the attention process all ids in
// one pass.
//
// The hook points of one pass are "decoder/layer[k]/state"
// (nn/layers/recurrent.h) and the hook points of the attention in "decoder". If
// ids are read one by one, the hook points of position t have the same names in
// "step[t]".
template <typename T>
class RecurrentDecoder : public Decoder<T> {
 public:
  struct Widths {
    int64_t memory;      // width of the memory's values and summary
    int64_t vocabulary;  // size of the target vocabulary
  };

  // The configs must have passed ValidateEncoderDecoder(). `attention` is used
  // only if the context is ATTENTION. Adds parameters "decoder.*" and
  // "attention.*" to `parameters`.
  RecurrentDecoder(const RecurrentDecoderConfig& config,
                   const Attention& attention, const AttentionRegistry& scorers,
                   const Widths& widths, const ParameterScope<T>& parameters);

  // The slots of the state. Attention weights are [rows, time].
  enum Slot {
    kKeys,    // prepared keys [sources, 1, time, prepared width]
    kValues,  // [sources, 1, time, memory width]
    // Three slots for a context that is the same at each step, [sources, ..].
    // kContext is the context, if the readout contains it. kContextGates is its
    // contribution to the first layer's input. kContextReadout is its
    // contribution to the attentional vector before the tanh.
    kContext,
    kContextGates,
    kContextReadout,
    kFeed,  // [rows, hidden], with input feeding
    kPreviousWeights,
    kCumulativeWeights,
    kStates,  // [rows, hidden], indexed by StateSlot()
    kNumSlots = kStates + kMaxRecurrentLayers * kMaxRecurrentStates,
  };
  // Returns the slot of a layer's state. State 0 is the output of the layer.
  static constexpr int StateSlot(int layer, int state) {
    return kStates + layer * kMaxRecurrentStates + state;
  }

  DecoderState<T> Begin(Forward<T>& forward,
                        const Memory<T>& memory) const override;
  // Replaces some of `ids` by predictions in training if
  // config.scheduled_sampling() is set.
  Var<T> Advance(Forward<T>& forward, absl::Span<const int32_t> ids,
                 absl::Span<const int32_t> lengths,
                 DecoderState<T>* state) const override;
  const OutputHead<T>& head() const override { return *head_; }
  // The attention may support only a limited range of distances. This range
  // limits the ids of a row and the positions of the memory.
  int64_t longest_position() const override;
  int64_t longest_memory() const override { return longest_position(); }
  bool attends_to_memory() const override { return attention_ != nullptr; }

 private:
  struct Word {
    Var<T> embedding;  // [rows, embedding]; empty if no readout uses it
    // The sum of the contributions of the word, a fixed context and the bias to
    // the first layer's input, [rows, gates].
    Var<T> projected;
  };

  void SetFixedContext(Forward<T>& forward, Var<T> context,
                       DecoderState<T>* state) const;
  Word ReadWords(Forward<T>& forward, absl::Span<const int32_t> ids,
                 const Shape& leading, DecoderState<T>* state) const;
  // Implements Advance() in one pass, or in one step per id.
  Var<T> AdvanceInOnePass(Forward<T>& forward, absl::Span<const int32_t> ids,
                          absl::Span<const int32_t> lengths,
                          DecoderState<T>* state) const;
  Var<T> AdvanceInSteps(Forward<T>& forward, absl::Span<const int32_t> ids,
                        absl::Span<const int32_t> lengths,
                        DecoderState<T>* state) const;
  // Drops the rows that have ended. Row i has lengths[i] ids, of which the
  // first `time` have been read.
  void DropEndedRowsIfMany(absl::Span<const int32_t> lengths, int64_t time,
                           DecoderState<T>* state) const;
  // Advances by one word. Returns the readout, [rows, readout width].
  Var<T> AdvanceOne(Forward<T>& forward, const Word& word,
                    DecoderState<T>* state) const;
  // `query` is [rows, hidden], or [rows, time, hidden] for successive
  // positions.
  AttentionResult<T> Attend(Forward<T>& forward, Var<T> query,
                            const DecoderState<T>& state) const;
  // `context` is the result of the attention. Empty without attention.
  Var<T> Readout(Forward<T>& forward, Var<T> top, Var<T> context,
                 Var<T> embedding, const DecoderState<T>& state) const;
  RecurrentState<T> StateOf(const DecoderState<T>& state) const;
  void SetState(const RecurrentState<T>& recurrent,
                DecoderState<T>* state) const;
  bool reads_embedding() const {
    return config_.readout() == RecurrentDecoderConfig::STATE_CONTEXT_EMBEDDING;
  }
  // Whether a step depends on results of the previous step other than the
  // recurrent state.
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
  // The column of the first layer's input at which the word begins. If the
  // context enters the recurrence, it precedes the word. The fed-back readout
  // follows the word.
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
