// Sequence-to-sequence models with and without attention: an encoder reads the
// source, a decoder writes the target one word after another.
//
// Bahdanau et al., "Neural machine translation by jointly learning to align and
// translate", 2015; Luong et al., "Effective approaches to attention-based
// neural machine translation", 2015. Training, evaluation and search use one
// definition of a step.
#ifndef SEQ2SEQ_SEQ2SEQ_MODEL_H_
#define SEQ2SEQ_SEQ2SEQ_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "attention/attend.h"
#include "nn/embedding.h"
#include "nn/forward.h"
#include "nn/linear.h"
#include "nn/model.h"
#include "nn/recurrent.h"
#include "seq2seq/batch.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

// What a decoder reads of a batch of sources.
template <typename T>
struct EncodedSource {
  Mask mask;       // hides padding
  Var<T> keys;     // [batch, 1, time, prepared width]; empty without attention
  Var<T> values;   // [batch, 1, time, encoder width]
  Var<T> context;  // [batch, encoder width], where it is fixed
};

// What a decoder knows between two words. Row r of every Var belongs to source
// r / beams.
template <typename T>
struct DecoderState {
  int64_t step = 0;  // words read so far
  RecurrentState<T> recurrent;
  Var<T> feed;                // [rows, hidden], with input feeding
  Var<T> previous_weights;    // [batch, 1, beams, time], for scores that
  Var<T> cumulative_weights;  // use history
};

template <typename T>
class Seq2SeqModel {
 public:
  struct Widths {
    int32_t source_vocabulary;
    int32_t target_vocabulary;
  };

  struct Step {
    DecoderState<T> state;
    Var<T> readout;  // [rows, readout width]: what words are read from
    Var<T> context;  // [rows, encoder width]; empty where there is none
    Var<T> weights;  // [batch, 1, beams, time]; empty without attention
  };

  // The configs have passed ValidateSeq2Seq(); `attention` is read where the
  // decoder's context is ATTENTION. Parameters are registered in `parameters`.
  Seq2SeqModel(const Encoder& encoder, const Decoder& decoder,
               const Attention& attention, const ScorerRegistry& scorers,
               const Widths& widths, ParameterScope<T> parameters);

  // `ids` [batch, time] with `lengths` [batch]. Sets the state before the first
  // word, one row per source.
  EncodedSource<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                          absl::Span<const int32_t> lengths,
                          DecoderState<T>* state) const;

  // What the words `ids` [rows] (or [batch, time], all steps at once) bring to
  // the first layer: [rows, gates].
  struct EmbeddedWords {
    Var<T> embedding;  // [.., embedding]
    Var<T> projected;  // [.., gates], biases included
  };
  EmbeddedWords Embed(Forward<T>& forward, absl::Span<const int32_t> ids,
                      const Shape& leading) const;

  // One word further.
  Step Advance(Forward<T>& forward, const EncodedSource<T>& source,
               const DecoderState<T>& state, const EmbeddedWords& words) const;

  // Unnormalised log probabilities [rows, vocabulary].
  Var<T> Logits(Forward<T>& forward, Var<T> readout) const;

  // Readouts of all steps with the true words as input, [batch, time, width].
  // Where `weights` is given it gets the weights of each step, or stays empty.
  Var<T> TeacherForced(Forward<T>& forward, const Batch& batch,
                       std::vector<Var<T>>* weights) const;

  Parameter<T> output_weight() const { return output_->weight(); }
  Parameter<T> output_bias() const { return output_->bias(); }
  int64_t target_vocabulary() const { return target_vocabulary_; }
  bool has_attention() const { return attender_ != nullptr; }
  // The largest |target position - source position| that attention accepts;
  // kAnyDistance if there is no limit.
  int64_t LongestDistance() const {
    return has_attention() ? attender_->LongestDistance() : kAnyDistance;
  }

 private:
  Var<T> Readout(Forward<T>& forward, Var<T> state, Var<T> context,
                 Var<T> embedding) const;
  Attended<T> Attend(Forward<T>& forward, const EncodedSource<T>& source,
                     const DecoderState<T>& state, Var<T> query) const;

  const Encoder encoder_config_;
  const Decoder config_;
  int64_t encoder_width_;  // of an encoder output
  int64_t context_width_;  // 0 without context
  int64_t target_vocabulary_;
  // The decoder's inputs are the context, if it is known before the state, then
  // the embedding, then what is fed back.
  int64_t first_of_word_;  // column of weight_ih
  std::unique_ptr<EmbeddingLayer<T>> source_embedding_;
  std::unique_ptr<EmbeddingLayer<T>> target_embedding_;
  std::unique_ptr<Recurrent<T>> encoder_;
  std::unique_ptr<Recurrent<T>> decoder_;
  std::unique_ptr<Attender<T>> attender_;
  std::unique_ptr<LinearLayer<T>> bridge_;       // initial_state: PROJECTED
  std::unique_ptr<LinearLayer<T>> attentional_;  // readout: ATTENTIONAL
  std::unique_ptr<LinearLayer<T>> output_;
};

extern template class Seq2SeqModel<float>;
extern template class Seq2SeqModel<double>;

}  // namespace regard

#endif  // SEQ2SEQ_SEQ2SEQ_MODEL_H_
