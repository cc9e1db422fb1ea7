#include "seq2seq/recurrent/recurrent_decoder.h"

#include <algorithm>

#include "attention/attention.pb.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/shape_ops.h"
#include "seq2seq/scheduled_sampling.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Returns x [rows, .., width] plus the contribution of each row's source,
// [sources, width]. The rows of a source are consecutive. `of_source` may be
// empty.
template <typename T>
Var<T> PlusOfSource(Var<T> x, Var<T> of_source) {
  if (!of_source.has_value()) return x;
  const int64_t sources = of_source.dim(0);
  const int64_t width = x.cols();
  return (x.Reshape({sources, x.rows() / sources, width}) +
          of_source.Reshape({sources, 1, width}))
      .Reshape(x.shape());
}

}  // namespace

template <typename T>
RecurrentDecoder<T>::RecurrentDecoder(const RecurrentDecoderConfig& config,
                                      const Attention& attention,
                                      const AttentionRegistry& scorers,
                                      const Widths& widths,
                                      const ParameterScope<T>& parameters)
    : config_(config),
      context_width_(config.context() == RecurrentDecoderConfig::NO_CONTEXT
                         ? 0
                         : widths.memory),
      word_column_(queries_before() ? context_width_ : 0) {
  const ParameterScope<T> scope = parameters.Sub("decoder");
  const int64_t hidden = config.hidden();
  embedding_ = std::make_unique<EmbeddingLayer<T>>(
      scope.Sub("embedding"), widths.vocabulary, config.embedding());
  if (config.context() == RecurrentDecoderConfig::ATTENTION) {
    attention_ = std::make_unique<AttentionLayer<T>>(
        scorers, attention, parameters.Sub("attention"),
        ScoreWidths{.heads = 1, .query = hidden, .key = widths.memory});
  }
  rnn_ =
      std::make_unique<Recurrent<T>>(scope.Sub("rnn"), RecurrentStack(config),
                                     word_column_ + config.embedding() +
                                         (config.input_feeding() ? hidden : 0));
  const WeightInitializer initialization =
      RecurrentWeights(config.initialization());
  if (config.initial_state() == RecurrentDecoderConfig::PROJECTED) {
    bridge_ = std::make_unique<LinearLayer<T>>(
        scope.Sub("bridge"), widths.memory, hidden,
        LinearOptions{.initialization = initialization});
  }
  int64_t readout = hidden;
  if (reads_embedding()) readout += context_width_ + config.embedding();
  if (config.readout() == RecurrentDecoderConfig::ATTENTIONAL) {
    attentional_ = std::make_unique<LinearLayer<T>>(
        scope.Sub("attentional"), hidden + context_width_, hidden,
        LinearOptions{.bias = false, .initialization = initialization});
  }
  head_ = std::make_unique<LinearHead<T>>(
      scope.Sub("output"), readout, widths.vocabulary,
      LinearOptions{.initialization = initialization});
}

template <typename T>
RecurrentState<T> RecurrentDecoder<T>::StateOf(
    const DecoderState<T>& state) const {
  RecurrentState<T> recurrent;
  for (int layer = 0; layer < rnn_->layers(); ++layer) {
    for (int i = 0; i < rnn_->states(); ++i) {
      recurrent[layer][i] = state[StateSlot(layer, i)];
    }
  }
  return recurrent;
}

template <typename T>
void RecurrentDecoder<T>::SetState(const RecurrentState<T>& recurrent,
                                   DecoderState<T>* state) const {
  for (int layer = 0; layer < rnn_->layers(); ++layer) {
    for (int i = 0; i < rnn_->states(); ++i) {
      state->SetRowValue(StateSlot(layer, i), recurrent[layer][i]);
    }
  }
}

template <typename T>
DecoderState<T> RecurrentDecoder<T>::Begin(Forward<T>& forward,
                                           const Memory<T>& memory) const {
  Tape<T>& tape = forward.tape();
  const NameScope<T> scope(tape, "decoder");
  const int64_t sources = memory.sources;
  DecoderState<T> state(tape, sources, memory.lengths, kNumSlots);

  RecurrentState<T> initial = rnn_->ZeroState(forward, sources);
  if (config_.initial_state() == RecurrentDecoderConfig::FINAL_STATE) {
    initial = memory.final_state;
  } else if (bridge_ != nullptr) {
    const Var<T> hidden = Tanh((*bridge_)(forward, memory.summary));
    for (int layer = 0; layer < rnn_->layers(); ++layer) {
      initial[layer][0] = hidden;
    }
  }
  SetState(initial, &state);
  if (config_.input_feeding()) {
    state.SetRowValue(kFeed, tape.Full({sources, config_.hidden()}, T(0)));
  }

  if (attention_ != nullptr) {
    const int64_t time = memory.values.dim(1);
    REGARD_CHECK(time <= longest_memory())
        << "a memory of " << time << " positions; the attention knows "
        << longest_memory();
    const Var<T> values =
        memory.values.Reshape({sources, 1, time, context_width_});
    state.SetSourceValue(kValues, values);
    state.SetSourceValue(kKeys, attention_->Prepare(forward, {.keys = values}));
    if (attention_->uses_history()) {
      const Var<T> none = tape.Full({sources, time}, T(0));
      state.SetRowValue(kPreviousWeights, none);
      state.SetRowValue(kCumulativeWeights, none);
    }
  } else if (context_width_ > 0) {
    SetFixedContext(forward, memory.summary, &state);
  }
  return state;
}

template <typename T>
void RecurrentDecoder<T>::SetFixedContext(Forward<T>& forward, Var<T> context,
                                          DecoderState<T>* state) const {
  if (reads_embedding()) state->SetSourceValue(kContext, context);
  if (word_column_ > 0) {
    state->SetSourceValue(kContextGates, rnn_->ProjectInput(forward, context, 0,
                                                            /*addend=*/{}));
  }
  if (attentional_ != nullptr) {
    const WeightColumns<T> columns(forward[attentional_->weight()],
                                   config_.hidden(), context_width_);
    state->SetSourceValue(kContextReadout,
                          Linear(context, columns, /*addend=*/Var<T>()));
  }
}

template <typename T>
typename RecurrentDecoder<T>::Word RecurrentDecoder<T>::ReadWords(
    Forward<T>& forward, absl::Span<const int32_t> ids, const Shape& leading,
    DecoderState<T>* state) const {
  const NameScope<T> scope(forward.tape(), "decoder");
  const auto embed = [&](absl::Span<const int32_t> of, const Shape& shape) {
    return forward.Site("embedded",
                        Dropout((*embedding_)(forward, of, shape),
                                config_.embedding_dropout(), "embedding"));
  };
  const auto project = [&](Var<T> embedding) {
    return rnn_->ProjectInput(forward, embedding, word_column_,
                              rnn_->InputBias(forward));
  };
  const Var<T> of_context = (*state)[kContextGates];
  // Rows are not cached if a hook may change them.
  if (state->known_rows() == nullptr || forward.Request("embedded").any()) {
    const Var<T> embedding = embed(ids, leading);
    return {embedding, PlusOfSource(project(embedding), of_context)};
  }
  const Var<T> projected = state->known_rows()->Get(
      forward.tape(), ids, [&](absl::Span<const int32_t> unknown) {
        return project(embed(unknown, {static_cast<int64_t>(unknown.size())}));
      });
  return {reads_embedding() ? embed(ids, leading) : Var<T>(),
          PlusOfSource(projected, of_context)};
}

template <typename T>
AttentionResult<T> RecurrentDecoder<T>::Attend(
    Forward<T>& forward, Var<T> query, const DecoderState<T>& state) const {
  const int64_t sources = state.sources();
  const int64_t rows = query.rows() / sources;
  const bool successive = query.rows() > state.rows();
  const auto by_source = [&](Var<T> x) {
    return x.has_value() ? x.Reshape({sources, 1, rows, x.cols()}) : x;
  };
  AttendInputs<T> inputs;
  inputs.score.queries = by_source(query);
  inputs.score.keys = state[kKeys];
  inputs.score.mask.key_lengths = state.lengths();
  // The queries of a source are successive positions, or alternatives for the
  // same position.
  inputs.score.positions = {.first_query = state.position(),
                            .query_step = successive ? 1 : 0};
  inputs.score.previous_weights = by_source(state[kPreviousWeights]);
  inputs.score.cumulative_weights = by_source(state[kCumulativeWeights]);
  inputs.values = state[kValues];
  inputs.context_only = successive;
  AttentionResult<T> attended = attention_->Attend(forward, inputs);
  attended.context =
      attended.context.Reshape(query.shape().With(-1, context_width_));
  return attended;
}

template <typename T>
Var<T> RecurrentDecoder<T>::Readout(Forward<T>& forward, Var<T> top,
                                    Var<T> context, Var<T> embedding,
                                    const DecoderState<T>& state) const {
  const auto read = [&] {
    if (attentional_ != nullptr) {
      if (context.has_value()) {
        const Var<T> parts[] = {top, context};
        return Tanh((*attentional_)(forward, Concat<T>(parts, /*axis=*/-1)));
      }
      const WeightColumns<T> columns(forward[attentional_->weight()], 0,
                                     top.cols());
      return Tanh(PlusOfSource(Linear(top, columns, /*addend=*/Var<T>()),
                               state[kContextReadout]));
    }
    if (!reads_embedding()) return top;
    if (!context.has_value()) {
      const int64_t sources = state.sources();
      context =
          BroadcastTo(state[kContext].Reshape({sources, 1, context_width_}),
                      {sources, top.rows() / sources, context_width_});
    }
    const Var<T> parts[] = {
        top, context.Reshape(top.shape().With(-1, context_width_)),
        embedding.Reshape(top.shape().With(-1, embedding.cols()))};
    return Concat<T>(parts, /*axis=*/-1);
  };
  return Dropout(read(), config_.hidden_dropout(), "readout");
}

template <typename T>
Var<T> RecurrentDecoder<T>::AdvanceOne(Forward<T>& forward, const Word& word,
                                       DecoderState<T>* state) const {
  const NameScope<T> scope(forward.tape(), "decoder");
  const RecurrentState<T> before = StateOf(*state);
  Var<T> projected = word.projected;
  AttentionResult<T> attended;
  if (attention_ != nullptr && queries_before()) {
    attended = Attend(forward, rnn_->Output(before), *state);
    projected = rnn_->ProjectInput(forward, attended.context, 0, projected);
  }
  if (config_.input_feeding()) {
    projected =
        rnn_->ProjectInput(forward, (*state)[kFeed],
                           word_column_ + config_.embedding(), projected);
  }
  const RecurrentState<T> after = rnn_->Step(forward, projected, before);
  SetState(after, state);
  const Var<T> top = rnn_->Output(after);
  if (attention_ != nullptr && !queries_before()) {
    attended = Attend(forward, top, *state);
  }
  if (attention_ != nullptr && attention_->uses_history()) {
    const Var<T> now =
        attended.weights.Reshape({state->rows(), attended.weights.cols()});
    state->SetRowValue(kCumulativeWeights, (*state)[kCumulativeWeights] + now);
    state->SetRowValue(kPreviousWeights, now);
  }
  const Var<T> readout =
      Readout(forward, top, attended.context, word.embedding, *state);
  if (config_.input_feeding()) state->SetRowValue(kFeed, readout);
  return readout;
}

template <typename T>
Var<T> RecurrentDecoder<T>::AdvanceInOnePass(Forward<T>& forward,
                                             absl::Span<const int32_t> ids,
                                             absl::Span<const int32_t> lengths,
                                             DecoderState<T>* state) const {
  const int64_t rows = state->rows();
  const int64_t time = static_cast<int64_t>(ids.size()) / rows;
  const Word words = ReadWords(forward, ids, {rows, time}, state);
  const NameScope<T> scope(forward.tape(), "decoder");
  const RecurrentOutputs<T> outputs = rnn_->RunProjected(
      forward, words.projected.Reshape({rows, time, words.projected.cols()}),
      lengths, StateOf(*state));
  SetState(outputs.final_state, state);
  const Var<T> top = outputs.sequence;
  const Var<T> context =
      attention_ == nullptr ? Var<T>() : Attend(forward, top, *state).context;
  state->AdvancePosition(time);
  return Readout(forward, top, context, words.embedding, *state);
}

// Dropping rows copies the keys and values of the remaining rows. Therefore,
// nothing is dropped until an eighth of the rows have ended.
template <typename T>
void RecurrentDecoder<T>::DropEndedRowsIfMany(absl::Span<const int32_t> lengths,
                                              int64_t time,
                                              DecoderState<T>* state) const {
  if (lengths.empty()) return;
  const int64_t rows = state->rows();
  int64_t live = rows;
  while (live > 0 && lengths[live - 1] <= time) --live;
  if (live <= rows - (rows + 7) / 8) state->KeepFirstSources(live);
}

template <typename T>
Var<T> RecurrentDecoder<T>::AdvanceInSteps(Forward<T>& forward,
                                           absl::Span<const int32_t> ids,
                                           absl::Span<const int32_t> lengths,
                                           DecoderState<T>* state) const {
  Tape<T>& tape = forward.tape();
  const int64_t rows = state->rows();
  const int64_t time = static_cast<int64_t>(ids.size()) / rows;
  // The probability with which the decoder reads a prediction instead of a true
  // word. If it is above 0, words are read one by one.
  const double predicted =
      tape.training() && config_.has_scheduled_sampling()
          ? PredictionProbability(config_.scheduled_sampling(),
                                  tape.random().step)
          : 0;
  const Word words =
      predicted > 0 ? Word() : ReadWords(forward, ids, {rows, time}, state);
  const auto at = [&](Var<T> x, int64_t t) {
    if (!x.has_value()) return x;
    if (time == 1) return x.Reshape({rows, x.cols()});
    x = Slice(x.Reshape({rows, time, x.cols()}), /*axis=*/1, t, 1)
            .Reshape({rows, x.cols()});
    return state->rows() == rows ? x : Slice(x, /*axis=*/0, 0, state->rows());
  };
  auto* const readouts = tape.arena().template New<Var<T>>(time);
  for (int64_t t = 0; t < time; ++t) {
    const NameScope<T> scope(tape, "step", state->position());
    // If predictions are read, no row is dropped, because predictions are made
    // for all rows.
    if (predicted == 0) DropEndedRowsIfMany(lengths, t, state);
    Word word;
    if (predicted > 0) {
      const absl::Span<int32_t> read(tape.arena().template New<int32_t>(rows),
                                     static_cast<size_t>(rows));
      for (int64_t row = 0; row < rows; ++row) read[row] = ids[row * time + t];
      if (t > 0) {
        ReplaceByPredictions(forward, *head_, readouts[t - 1], predicted,
                             state->position(), read);
      }
      word = ReadWords(forward, read, {rows}, state);
    } else {
      word = {reads_embedding() ? at(words.embedding, t) : Var<T>(),
              at(words.projected, t)};
    }
    readouts[t] = AdvanceOne(forward, word, state);
    state->AdvancePosition(1);
  }
  if (time == 1) return readouts[0].Reshape({rows, 1, readouts[0].cols()});
  return Stack(absl::MakeConstSpan(readouts, static_cast<size_t>(time)),
               /*axis=*/1);
}

template <typename T>
Var<T> RecurrentDecoder<T>::Advance(Forward<T>& forward,
                                    absl::Span<const int32_t> ids,
                                    absl::Span<const int32_t> lengths,
                                    DecoderState<T>* state) const {
  const int64_t rows = state->rows();
  const int64_t time = static_cast<int64_t>(ids.size()) / rows;
  REGARD_CHECK(time > 0 && time * rows == static_cast<int64_t>(ids.size()))
      << ids.size() << " ids for " << rows << " rows";
  REGARD_CHECK(time == 1 || state->rows_per_source() == 1)
      << time << " ids at once for " << state->rows_per_source()
      << " rows a source";
  REGARD_CHECK(lengths.empty() ||
               (static_cast<int64_t>(lengths.size()) == rows &&
                std::is_sorted(lengths.rbegin(), lengths.rend())))
      << lengths.size() << " lengths for " << rows << " rows, in falling order";
  return feeds_back() ? AdvanceInSteps(forward, ids, lengths, state)
                      : AdvanceInOnePass(forward, ids, lengths, state);
}

template <typename T>
int64_t RecurrentDecoder<T>::longest_position() const {
  if (attention_ == nullptr) return kUnlimited;
  return PositionsWithin(attention_->MaxDistance());
}

REGARD_INSTANTIATE_CLASS(RecurrentDecoder);

}  // namespace regard
