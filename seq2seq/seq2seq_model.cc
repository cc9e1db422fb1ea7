#include "seq2seq/seq2seq_model.h"

#include <algorithm>

#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/gather.h"
#include "autodiff/ops/shape_ops.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {

namespace {

template <typename Config>
RecurrentConfig StackConfig(const Config& config) {
  RecurrentConfig stack;
  stack.set_cell(config.cell());
  stack.set_reset_gate(config.reset_gate());
  stack.set_width(config.hidden());
  stack.set_layers(config.layers());
  stack.set_dropout(config.dropout());
  stack.set_initialization(config.initialization());
  return stack;
}

// [rows, width] as the one head of a batch: [batch, 1, rows of each, width].
template <typename T>
Var<T> AsQueries(Var<T> x, int64_t batch) {
  return x.WithShape({batch, 1, x.rows() / batch, x.cols()});
}

}  // namespace

template <typename T>
Seq2SeqModel<T>::Seq2SeqModel(const Encoder& encoder, const Decoder& decoder,
                              const Attention& attention,
                              const ScorerRegistry& scorers,
                              const Widths& widths,
                              ParameterScope<T> parameters)
    : encoder_config_(encoder),
      config_(decoder),
      encoder_width_(EncoderOutputWidth(encoder)),
      context_width_(decoder.context() == Decoder::NO_CONTEXT ? 0
                                                              : encoder_width_),
      target_vocabulary_(widths.target_vocabulary),
      first_of_word_(decoder.query() == Decoder::PREVIOUS_STATE ? context_width_
                                                                : 0) {
  const ParameterScope<T> in = parameters.Sub("encoder");
  source_embedding_ = std::make_unique<EmbeddingLayer<T>>(
      in.Sub("embedding"), widths.source_vocabulary, encoder.embedding());
  RecurrentConfig stack = StackConfig(encoder);
  stack.set_bidirectional(encoder.bidirectional());
  encoder_ =
      std::make_unique<Recurrent<T>>(in.Sub("rnn"), stack, encoder.embedding());

  const ParameterScope<T> out = parameters.Sub("decoder");
  target_embedding_ = std::make_unique<EmbeddingLayer<T>>(
      out.Sub("embedding"), widths.target_vocabulary, decoder.embedding());
  if (decoder.context() == Decoder::ATTENTION) {
    attender_ = std::make_unique<Attender<T>>(
        scorers, attention, parameters.Sub("attention"),
        ScoreWidths{
            .heads = 1, .query = decoder.hidden(), .key = encoder_width_});
  }
  const int64_t feed = decoder.input_feeding() ? decoder.hidden() : 0;
  decoder_ = std::make_unique<Recurrent<T>>(
      out.Sub("rnn"), StackConfig(decoder),
      first_of_word_ + decoder.embedding() + feed);
  const LinearOptions linear = {.initialization = decoder.initialization()};
  if (decoder.initial_state() == Decoder::PROJECTED) {
    bridge_ = std::make_unique<LinearLayer<T>>(
        out.Sub("bridge"), encoder_width_, decoder.hidden(), linear);
  }
  int64_t readout = decoder.hidden();
  if (decoder.readout() == Decoder::STATE_CONTEXT_EMBEDDING) {
    readout += context_width_ + decoder.embedding();
  }
  if (decoder.readout() == Decoder::ATTENTIONAL) {
    attentional_ = std::make_unique<LinearLayer<T>>(
        out.Sub("attentional"), decoder.hidden() + context_width_,
        decoder.hidden(),
        LinearOptions{.bias = false,
                      .initialization = decoder.initialization()});
  }
  output_ = std::make_unique<LinearLayer<T>>(out.Sub("output"), readout,
                                             widths.target_vocabulary, linear);
}

template <typename T>
EncodedSource<T> Seq2SeqModel<T>::Encode(Forward<T>& forward,
                                         absl::Span<const int32_t> ids,
                                         absl::Span<const int32_t> lengths,
                                         DecoderState<T>* state) const {
  Tape<T>& tape = forward.tape();
  const NameScope<T> scope(tape, "encoder");
  const auto batch = static_cast<int64_t>(lengths.size());
  const int64_t time = static_cast<int64_t>(ids.size()) / batch;
  const Var<T> embedded =
      Dropout((*source_embedding_)(forward, ids, {batch, time}),
              encoder_config_.embedding_dropout(), "embedding");
  const RecurrentOutputs<T> encoded = encoder_->Run(forward, embedded, lengths);
  const bool both = encoder_config_.bidirectional();

  // The top layer's last state, both directions side by side.
  Var<T> last = encoder_->Output(encoded.final_state);
  if (both) {
    const Var<T> directions[] = {last,
                                 encoder_->Output(encoded.reverse_final_state)};
    last = Concat<T>(directions, /*axis=*/-1);
  }

  state->recurrent = decoder_->ZeroState(forward, batch);
  if (config_.initial_state() == Decoder::FINAL_STATE) {
    state->recurrent = both ? encoded.reverse_final_state : encoded.final_state;
  } else if (config_.initial_state() == Decoder::PROJECTED) {
    const Var<T> hidden = Tanh((*bridge_)(forward, last));
    for (int layer = 0; layer < decoder_->layers(); ++layer) {
      state->recurrent[layer][0] = hidden;
    }
  }
  if (config_.input_feeding()) {
    state->feed = tape.Full({batch, config_.hidden()}, T(0));
  }

  EncodedSource<T> source;
  source.mask.key_lengths = lengths;
  if (attender_ != nullptr) {
    source.values =
        encoded.sequence.WithShape({batch, 1, time, encoder_width_});
    source.keys =
        attender_->Prepare(forward, source.values, /*key_position=*/0);
    if (attender_->uses_history()) {
      state->previous_weights = tape.Full({batch, 1, 1, time}, T(0));
      state->cumulative_weights = state->previous_weights;
    }
  } else if (context_width_ > 0) {
    source.context = last;
  }
  return source;
}

template <typename T>
typename Seq2SeqModel<T>::EmbeddedWords Seq2SeqModel<T>::Embed(
    Forward<T>& forward, absl::Span<const int32_t> ids,
    const Shape& leading) const {
  const NameScope<T> scope(forward.tape(), "decoder");
  const Var<T> embedding = Dropout((*target_embedding_)(forward, ids, leading),
                                   config_.embedding_dropout(), "embedding");
  return {embedding, decoder_->ProjectInput(forward, embedding, first_of_word_,
                                            /*addend=*/{})};
}

template <typename T>
Attended<T> Seq2SeqModel<T>::Attend(Forward<T>& forward,
                                    const EncodedSource<T>& source,
                                    const DecoderState<T>& state,
                                    Var<T> query) const {
  AttendInputs<T> inputs;
  inputs.score.queries = AsQueries(query, source.values.dim(0));
  inputs.score.keys = source.keys;
  inputs.score.mask = source.mask;
  // The rows of a source are its beams, all at one step.
  inputs.score.positions = {.first_query = state.step, .query_step = 0};
  inputs.score.previous_weights = state.previous_weights;
  inputs.score.cumulative_weights = state.cumulative_weights;
  inputs.values = source.values;
  Attended<T> attended = attender_->Attend(forward, inputs);
  attended.context = attended.context.WithShape({query.rows(), context_width_});
  return attended;
}

template <typename T>
Var<T> Seq2SeqModel<T>::Readout(Forward<T>& forward, Var<T> state,
                                Var<T> context, Var<T> embedding) const {
  switch (config_.readout()) {
    case Decoder::STATE_CONTEXT_EMBEDDING: {
      const Var<T> parts[] = {state, context, embedding};
      return Concat<T>(parts, /*axis=*/-1);
    }
    case Decoder::ATTENTIONAL: {
      const Var<T> parts[] = {state, context};
      return Tanh((*attentional_)(forward, Concat<T>(parts, /*axis=*/-1)));
    }
    default:
      return state;
  }
}

template <typename T>
typename Seq2SeqModel<T>::Step Seq2SeqModel<T>::Advance(
    Forward<T>& forward, const EncodedSource<T>& source,
    const DecoderState<T>& state, const EmbeddedWords& words) const {
  const NameScope<T> scope(forward.tape(), "decoder");
  const bool query_before = config_.query() == Decoder::PREVIOUS_STATE;
  Step step;
  step.state = state;
  ++step.state.step;
  Var<T> projected = words.projected;
  Var<T> context = source.context;
  if (context.has_value() && context.rows() != projected.rows()) {
    // A fixed context serves all beams of its source.
    const int64_t beams = projected.rows() / context.rows();
    context =
        BroadcastTo(context.WithShape({context.rows(), 1, context_width_}),
                    {context.rows(), beams, context_width_})
            .WithShape({projected.rows(), context_width_});
  }
  Attended<T> attended;
  if (attender_ != nullptr && query_before) {
    attended =
        Attend(forward, source, state, decoder_->Output(state.recurrent));
    context = attended.context;
  }
  if (query_before && context_width_ > 0) {
    projected = decoder_->ProjectInput(forward, context, 0, projected);
  }
  if (config_.input_feeding()) {
    projected = decoder_->ProjectInput(
        forward, state.feed, first_of_word_ + config_.embedding(), projected);
  }
  step.state.recurrent = decoder_->Step(forward, projected, state.recurrent);
  const Var<T> top = decoder_->Output(step.state.recurrent);
  if (attender_ != nullptr && !query_before) {
    attended = Attend(forward, source, state, top);
    context = attended.context;
  }
  step.context = context;
  step.weights = attended.weights;
  if (attender_ != nullptr && attender_->uses_history()) {
    step.state.cumulative_weights = state.cumulative_weights + attended.weights;
    step.state.previous_weights = attended.weights;
  }
  step.readout = Dropout(Readout(forward, top, context, words.embedding),
                         config_.hidden_dropout(), "readout");
  if (config_.input_feeding()) step.state.feed = step.readout;
  return step;
}

template <typename T>
Var<T> Seq2SeqModel<T>::Logits(Forward<T>& forward, Var<T> readout) const {
  return (*output_)(forward, readout);
}

template <typename T>
Var<T> Seq2SeqModel<T>::TeacherForced(Forward<T>& forward, const Batch& batch,
                                      std::vector<Var<T>>* weights) const {
  Tape<T>& tape = forward.tape();
  DecoderState<T> state;
  const EncodedSource<T> source =
      Encode(forward, batch.source, batch.source_lengths, &state);
  const int64_t time = batch.target_time;
  const EmbeddedWords words =
      Embed(forward, batch.target_input, {batch.size, time});
  const auto at = [&](Var<T> x, int64_t t) {
    return Slice(x, /*axis=*/1, t, 1).WithShape({batch.size, x.cols()});
  };
  auto* readouts = tape.arena().template New<Var<T>>(time);
  const bool reads_embedding =
      config_.readout() == Decoder::STATE_CONTEXT_EMBEDDING;
  for (int64_t t = 0; t < time; ++t) {
    const NameScope<T> scope(tape, "step", t);
    const EmbeddedWords word = {
        reads_embedding ? at(words.embedding, t) : Var<T>(),
        at(words.projected, t)};
    const Step step = Advance(forward, source, state, word);
    state = step.state;
    readouts[t] = step.readout;
    if (weights != nullptr && step.weights.has_value()) {
      weights->push_back(step.weights);
    }
  }
  return Stack(absl::MakeConstSpan(readouts, static_cast<size_t>(time)),
               /*axis=*/1);
}

template class Seq2SeqModel<float>;
template class Seq2SeqModel<double>;

}  // namespace regard
