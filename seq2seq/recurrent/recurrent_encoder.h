// The recurrent encoder of sequence-to-sequence models: an embedding and a
// stack of GRU or LSTM layers.
#ifndef SEQ2SEQ_RECURRENT_RECURRENT_ENCODER_H_
#define SEQ2SEQ_RECURRENT_RECURRENT_ENCODER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "nn/forward.h"
#include "nn/layers/embedding.h"
#include "nn/layers/recurrent.h"
#include "nn/parameters.h"
#include "seq2seq/encoder.h"
#include "seq2seq/memory.h"
#include "seq2seq/seq2seq.pb.h"

namespace regard {

// The values of the memory are the outputs of the last layer, [sources, time,
// directions hidden]; the summary is that layer's last state, both directions
// side by side; the final state is that of each layer, of the backward
// direction if there are two.
template <typename T>
class RecurrentEncoder : public Encoder<T> {
 public:
  // `config` has passed ValidateEncoderDecoder(). Parameters are "embedding.*"
  // and "rnn.*" in `scope`.
  RecurrentEncoder(const RecurrentEncoderConfig& config, int64_t vocabulary,
                   const ParameterScope<T>& scope);

  Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                   absl::Span<const int32_t> lengths) const override;

 private:
  const RecurrentEncoderConfig config_;
  EmbeddingLayer<T> embedding_;
  Recurrent<T> rnn_;
};

}  // namespace regard

#endif  // SEQ2SEQ_RECURRENT_RECURRENT_ENCODER_H_
