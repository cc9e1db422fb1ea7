#include "seq2seq/encoder_decoder.h"

#include <utility>

#include "seq2seq/recurrent/recurrent_decoder.h"
#include "seq2seq/recurrent/recurrent_encoder.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/transformer_decoder.h"
#include "seq2seq/transformer_encoder.h"

namespace regard {

template <typename T>
DecoderOutput<T> EncoderDecoder<T>::Run(Forward<T>& forward, const Batch& batch,
                                        const AdvanceOptions& options) const {
  const Memory<T> memory =
      encoder->Encode(forward, batch.source.ids, batch.source.lengths);
  return decoder->Run(forward, memory, batch.input.ids, options);
}

template <typename T>
EncoderDecoder<T> MakeModel(const EncoderDecoderConfig& config,
                            const ScorerRegistry& scorers,
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
