// A sequence-to-sequence model: an encoder of ids and a decoder.
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

  // `ids` [sources, time], of which the first lengths[i] of source i are valid.
  // Both outlive the step. The memory of a source depends on its valid ids
  // alone.
  virtual Memory<T> Encode(Forward<T>& forward, absl::Span<const int32_t> ids,
                           absl::Span<const int32_t> lengths) const = 0;

  // Ids that a source can have at most; more fail a check in Encode().
  virtual int64_t longest_position() const { return kUnlimited; }
};

// The rows are sentences, padded with <pad>; lengths include <eos>.
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

  // Teacher forcing. The readout is [batch, target time, width].
  Var<T> Run(Forward<T>& forward, const Batch& batch,
             absl::Span<const int32_t> lengths = {}) const;
};

// The encoder and decoder that a config chooses, which has passed
// ValidateEncoderDecoder(). Parameters are "encoder.*", "decoder.*" and, of a
// recurrent decoder, "attention.*" in `parameters`. With tied_embeddings:
// SOURCE_TARGET_OUTPUT both vocabularies are one.
template <typename T>
EncoderDecoder<T> MakeModel(const EncoderDecoderConfig& config,
                            const AttentionRegistry& scorers,
                            const VocabularySizes& vocabularies,
                            const ParameterScope<T>& parameters);

}  // namespace regard

#endif  // SEQ2SEQ_ENCODER_DECODER_H_
