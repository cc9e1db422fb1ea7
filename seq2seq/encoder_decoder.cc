#include "seq2seq/encoder_decoder.h"

#include <algorithm>
#include <utility>

#include "attention/kernels/weighted_values.h"
#include "attention/transformer/input_embedding.h"
#include "attention/transformer/stack.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/shape_ops.h"
#include "data/text/vocabulary.h"
#include "nn/layers/embedding.h"
#include "nn/layers/recurrent.h"
#include "seq2seq/recurrent/recurrent_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/transformer_decoder.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

RecurrentOptions StackOf(const RecurrentEncoderConfig& config) {
  RecurrentOptions stack = RecurrentStack(config);
  stack.bidirectional = config.bidirectional();
  return stack;
}

// An embedding and a stack of GRU or LSTM layers.
//
// The values of the memory are the outputs of the last layer, [sources, time,
// directions * hidden]. The summary is the last state of that layer, with both
// directions concatenated. The final state contains the state of each layer.
// For a bidirectional encoder, it has only the states of the backward
// direction.
template <typename T>
class RecurrentEncoder : public Encoder<T> {
 public:
  // Creates parameters "embedding.*" and "rnn.*" in `scope`.
  RecurrentEncoder(const RecurrentEncoderConfig& config, int64_t vocabulary,
                   const ParameterScope<T>& scope)
      : config_(config),
        embedding_(scope.Sub("embedding"), vocabulary, config.embedding()),
        rnn_(scope.Sub("rnn"), StackOf(config), config.embedding()) {}

  Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                   absl::Span<const int32_t> lengths) const override {
    const NameScope<T> scope(forward.tape(), "encoder");
    const auto sources = static_cast<int64_t>(lengths.size());
    const auto size = static_cast<int64_t>(ids.size());
    REGARD_CHECK(sources > 0 && size % sources == 0)
        << size << " ids of " << sources << " sources";
    Var<T> embedded =
        Dropout(embedding_(forward, ids, {sources, size / sources}),
                config_.embedding_dropout(), "embedding");
    embedded = forward.Site("embedded", embedded);
    const RecurrentOutputs<T> encoded = rnn_.Run(forward, embedded, lengths);
    Memory<T> memory = {.sources = sources,
                        .values = encoded.sequence,
                        .lengths = lengths,
                        .summary = rnn_.Output(encoded.final_state),
                        .final_state = encoded.final_state};
    if (config_.bidirectional()) {
      const Var<T> directions[] = {memory.summary,
                                   rnn_.Output(encoded.reverse_final_state)};
      memory.summary = Concat<T>(directions, /*axis=*/-1);
      memory.final_state = encoded.reverse_final_state;
    }
    return memory;
  }

 private:
  const RecurrentEncoderConfig config_;
  EmbeddingLayer<T> embedding_;
  Recurrent<T> rnn_;
};

// Embeddings and a stack of self-attention layers: Vaswani et al., "Attention
// is all you need", 2017.
//
// The values of the memory are the outputs of the stack, [sources, time,
// width]. The summary is the mean of the valid outputs. There is no final
// state.
template <typename T>
class TransformerEncoder : public Encoder<T> {
 public:
  // Creates parameters "embedding.*", "position_embedding.*", "layers.*" and
  // "norm.*" in `scope`.
  TransformerEncoder(const TransformerConfig& config,
                     const AttentionRegistry& scorers, int64_t vocabulary,
                     const ParameterScope<T>& scope)
      : embedding_(config, vocabulary, scope),
        stack_(scorers, config, /*memory_width=*/0, scope) {}

  Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                   absl::Span<const int32_t> lengths) const override {
    const NameScope<T> scope(forward.tape(), "encoder");
    const auto sources = static_cast<int64_t>(lengths.size());
    const Var<T> x = embedding_(forward, ids, sources, /*first=*/0);
    const Var<T> values =
        stack_(forward, x, {.mask = {.key_lengths = lengths}});
    return {.sources = sources,
            .values = values,
            .lengths = lengths,
            .summary = MeanOfFirstRows(values, lengths)};
  }
  int64_t longest_position() const override {
    return std::min(embedding_.longest_position(), stack_.longest_position());
  }

  // The embedding weight [vocabulary, width], for other layers to share.
  Parameter<T> embedding() const { return embedding_.weight(); }

 private:
  InputEmbedding<T> embedding_;
  TransformerStack<T> stack_;
};

}  // namespace

Batch MakeBatch(const ParallelCorpus& pairs, absl::Span<const int64_t> examples,
                Arena& arena) {
  const auto rows = static_cast<int64_t>(examples.size());
  return {TeacherForcingBatch(
              rows, Vocabulary::kBegin, Vocabulary::kPad, arena,
              [&](int64_t row) { return pairs[examples[row]].target; }),
          PadSequences(rows, Vocabulary::kPad, arena, [&](int64_t row) {
            return pairs[examples[row]].source;
          })};
}

template <typename T>
Var<T> EncoderDecoder<T>::Run(Forward<T>& forward, const Batch& batch,
                              absl::Span<const int32_t> lengths) const {
  const Memory<T> memory =
      encoder->Encode(forward, batch.source.ids, batch.source.lengths);
  return decoder->Run(forward, memory, batch.input.ids, lengths);
}

template <typename T>
EncoderDecoder<T> MakeModel(const EncoderDecoderConfig& config,
                            const AttentionRegistry& scorers,
                            const VocabularySizes& vocabularies,
                            const ParameterScope<T>& parameters) {
  EncoderDecoder<T> model;
  const ParameterScope<T> scope = parameters.Sub("encoder");
  Parameter<T> source_embedding;
  if (HasTransformerEncoder(config)) {
    auto encoder = std::make_unique<TransformerEncoder<T>>(
        TransformerOfEncoder(config), scorers, vocabularies.source, scope);
    source_embedding = encoder->embedding();
    model.encoder = std::move(encoder);
  } else {
    model.encoder = std::make_unique<RecurrentEncoder<T>>(
        config.encoder(), vocabularies.source, scope);
  }
  if (!HasTransformerDecoder(config)) {
    model.decoder = std::make_unique<RecurrentDecoder<T>>(
        config.decoder(), config.attention(), scorers,
        typename RecurrentDecoder<T>::Widths{.memory = MemoryWidth(config),
                                             .vocabulary = vocabularies.target},
        parameters);
    return model;
  }
  const TransformerConfig decoder = TransformerOfDecoder(config);
  typename TransformerDecoder<T>::Options options = {
      .memory_width = MemoryWidth(config),
      .vocabulary = vocabularies.target,
      .alignment = {.layer = config.alignment().layer(),
                    .head = config.alignment().head()}};
  if (decoder.tied_embeddings() == TransformerConfig::SOURCE_TARGET_OUTPUT) {
    options.source_embedding = source_embedding;
  }
  model.decoder = std::make_unique<TransformerDecoder<T>>(
      decoder, scorers, options, parameters.Sub("decoder"));
  return model;
}

template struct EncoderDecoder<float>;
template struct EncoderDecoder<double>;
REGARD_INSTANTIATE_FUNCTION(MakeModel);
}  // namespace regard
