// A sequence-to-sequence model: an encoder of token ids and a decoder.
#ifndef SEQ2SEQ_ENCODER_DECODER_H_
#define SEQ2SEQ_ENCODER_DECODER_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/positions.h"
#include "autodiff/arena.h"
#include "data/parallel_corpus.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder.h"
#include "seq2seq/memory.h"
#include "seq2seq/padded_ids.h"

namespace regard {

class EncoderDecoderConfig;

template <typename T>
class Encoder {
 public:
  virtual ~Encoder() = default;

  // Encodes `ids` [sources, time], of which the first lengths[i] ids of source
  // i are valid. Both arguments must outlive the step. The memory of a source
  // depends only on its valid ids.
  virtual Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                           absl::Span<const int32_t> lengths) const = 0;

  // The maximum number of ids of a source. Encode() fails a check for a longer
  // source.
  virtual int64_t longest_position() const { return kUnlimited; }
};

// A batch of sentence pairs, padded with <pad>. Lengths include <eos>.
struct Batch : DecoderBatch {
  PaddedIds source;
};

Batch MakeBatch(const ParallelCorpus& pairs, absl::Span<const int64_t> examples,
                Arena& arena);

struct VocabularySizes {
  int64_t source;
  int64_t target;
};

template <typename T>
struct EncoderDecoder {
  std::unique_ptr<Encoder<T>> encoder;
  std::unique_ptr<Decoder<T>> decoder;

  // Teacher forcing. Returns the readout, [batch, target time, width].
  Var<T> Run(Forward<T>& forward, const Batch& batch,
             absl::Span<const int32_t> lengths = {}) const;
};

// Creates the encoder and the decoder that `config` chooses. `config` must have
// passed ValidateEncoderDecoder().
//
// Adds parameters "encoder.*", "decoder.*" and, for a recurrent decoder,
// "attention.*" to `parameters`. Both vocabularies must be the same if
// tied_embeddings is SOURCE_TARGET_OUTPUT.
template <typename T>
EncoderDecoder<T> MakeModel(const EncoderDecoderConfig& config,
                            const AttentionRegistry& scorers,
                            const VocabularySizes& vocabularies,
                            const ParameterScope<T>& parameters);

}  // namespace regard

#endif  // SEQ2SEQ_ENCODER_DECODER_H_
