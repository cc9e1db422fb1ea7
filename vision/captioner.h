// A captioner: a Transformer decoder that attends to the outputs of a Vision
// Transformer. The search of seq2seq/decoding/ supports it like any Decoder.
// Li et al., "BLIP: Bootstrapping language-image pre-training", 2022.
#ifndef VISION_CAPTIONER_H_
#define VISION_CAPTIONER_H_

#include <cstdint>
#include <memory>

#include "attention/attention_registry.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"
#include "seq2seq/decoder.h"
#include "seq2seq/memory.h"
#include "seq2seq/output_head.h"
#include "seq2seq/transformer_decoder.h"
#include "vision/vision_transformer.h"

namespace regard {

class CaptionerConfig;

void ValidateCaptioner(const CaptionerConfig& config,
                       const AttentionRegistry& scorers,
                       ConfigProblems& problems);

// The number of a captioner's token ids, and the special ids.
struct CaptionIds {
  int64_t count;
  SpecialIds special = {};
};

// Has the parameters of VisionTransformer under "encoder", and the parameters
// of TransformerDecoder under "decoder".
template <typename T>
class Captioner {
 public:
  // `config` must have passed ValidateCaptioner().
  Captioner(const CaptionerConfig& config, const ImageShape& images,
            const CaptionIds& ids, const AttentionRegistry& scorers,
            const ParameterScope<T>& scope);

  // Returns the memory of `count` images, [count, channels, height, width].
  // Without cross-attention, `images` may be empty, and the memory has `count`
  // sources but no values.
  Memory<T> Encode(Forward<T>& forward, int64_t count, Var<T> images) const;

  // The decoder. Its alignment is the attention of layer config.map_layer().
  const Decoder<T>& decoder() const { return decoder_; }
  // The encoder; null without cross-attention.
  const VisionTransformer<T>* encoder() const { return encoder_.get(); }

 private:
  std::unique_ptr<VisionTransformer<T>> encoder_;
  TransformerDecoder<T> decoder_;
};

}  // namespace regard

#endif  // VISION_CAPTIONER_H_
