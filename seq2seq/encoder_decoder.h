// A sequence-to-sequence model: an encoder of ids and a decoder.
#ifndef SEQ2SEQ_ENCODER_DECODER_H_
#define SEQ2SEQ_ENCODER_DECODER_H_

#include <cstdint>
#include <memory>

#include "attention/attention.pb.h"
#include "attention/scorer_registry.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/batch.h"
#include "seq2seq/decoder.h"
#include "seq2seq/encoder.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

// Sizes of the vocabularies.
struct VocabularySizes {
  int64_t source;
  int64_t target;
};

template <typename T>
struct EncoderDecoder {
  std::unique_ptr<Encoder<T>> encoder;
  std::unique_ptr<Decoder<T>> decoder;

  // Teacher forcing: reads the whole target input of a batch. The readout is
  // [batch, target time, width].
  DecoderOutput<T> Run(Forward<T>& forward, const Batch& batch,
                       const AdvanceOptions& options = {}) const;
};

// The encoder and decoder that a config chooses, which has passed
// ValidateEncoderDecoder(). Parameters are "encoder.*", "decoder.*" and, of a
// recurrent decoder, "attention.*" in `parameters`. With tied_embeddings:
// SOURCE_TARGET_OUTPUT both vocabularies are one.
template <typename T>
EncoderDecoder<T> MakeModel(const EncoderDecoderConfig& config,
                            const ScorerRegistry& scorers,
                            const VocabularySizes& vocabularies,
                            const ParameterScope<T>& parameters);

}  // namespace regard

#endif  // SEQ2SEQ_ENCODER_DECODER_H_
