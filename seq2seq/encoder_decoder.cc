#include "seq2seq/encoder_decoder.h"

#include "seq2seq/recurrent_decoder.h"
#include "seq2seq/recurrent_encoder.h"
#include "seq2seq/seq2seq_validation.h"

namespace regard {

template <typename T>
DecoderOutput<T> EncoderDecoder<T>::Run(Forward<T>& forward, const Batch& batch,
                                        const AdvanceOptions& options) const {
  DecoderState<T> state = decoder->Begin(
      forward, encoder->Encode(forward, batch.source, batch.source_lengths));
  return decoder->Advance(forward, batch.target_input, options, &state);
}

template <typename T>
EncoderDecoder<T> MakeRecurrentModel(const RecurrentEncoderConfig& encoder,
                                     const RecurrentDecoderConfig& decoder,
                                     const Attention& attention,
                                     const ScorerRegistry& scorers,
                                     const VocabularySizes& vocabularies,
                                     const ParameterScope<T>& parameters) {
  EncoderDecoder<T> model;
  model.encoder = std::make_unique<RecurrentEncoder<T>>(
      encoder, vocabularies.source, parameters.Sub("encoder"));
  model.decoder = std::make_unique<RecurrentDecoder<T>>(
      decoder, attention, scorers,
      typename RecurrentDecoder<T>::Widths{
          .memory = EncoderOutputWidth(encoder),
          .vocabulary = vocabularies.target},
      parameters);
  return model;
}

template struct EncoderDecoder<float>;
template struct EncoderDecoder<double>;
template EncoderDecoder<float> MakeRecurrentModel(const RecurrentEncoderConfig&,
                                                  const RecurrentDecoderConfig&,
                                                  const Attention&,
                                                  const ScorerRegistry&,
                                                  const VocabularySizes&,
                                                  const ParameterScope<float>&);
template EncoderDecoder<double> MakeRecurrentModel(
    const RecurrentEncoderConfig&, const RecurrentDecoderConfig&,
    const Attention&, const ScorerRegistry&, const VocabularySizes&,
    const ParameterScope<double>&);

}  // namespace regard
