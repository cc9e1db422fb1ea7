// A captioner: a Vision Transformer whose tokens a Transformer decoder attends
// to. The decoder is an ordinary Decoder, which seq2seq/decoding/ searches
// with. Li et al., "BLIP: Bootstrapping language-image pre-training", 2022.
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

// The ids of a captioner's tokens.
struct CaptionIds {
  int64_t count;
  SpecialIds special = {};
};

// Parameters: "encoder.*", those of the VisionTransformer, and "decoder.*",
// those of the TransformerDecoder.
template <typename T>
class Captioner {
 public:
  // `config` has passed ValidateCaptioner().
  Captioner(const CaptionerConfig& config, const ImageShape& images,
            const CaptionIds& ids, const AttentionRegistry& scorers,
            const ParameterScope<T>& scope);

  // The memory of `count` images, `images` [count, channels, height, width]. An
  // empty one, of as many sources, without cross-attention: `images` is not
  // read then and may be empty.
  Memory<T> Encode(Forward<T>& forward, int64_t count, Var<T> images) const;

  // Its alignment is the map of config.map_layer().
  const Decoder<T>& decoder() const { return decoder_; }
  // Null without cross-attention.
  const VisionTransformer<T>* encoder() const { return encoder_.get(); }

 private:
  std::unique_ptr<VisionTransformer<T>> encoder_;
  TransformerDecoder<T> decoder_;
};

}  // namespace regard

#endif  // VISION_CAPTIONER_H_
