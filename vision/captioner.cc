#include "vision/captioner.h"

#include <algorithm>

#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "data/text/wordpiece_config.h"
#include "third_party/abseil_backport/check.h"
#include "vision/captioner.pb.h"

namespace regard {

namespace {

int64_t WidthOfMemory(const CaptionerConfig& config) {
  return config.cross_attention()
             ? config.vision_transformer().transformer().width()
             : 0;
}

}  // namespace

void ValidateCaptioner(const CaptionerConfig& config,
                       const AttentionRegistry& scorers,
                       ConfigProblems& problems) {
  {
    const ConfigProblems::Scope scope(problems, "vision_transformer");
    ValidateVisionTransformer(config.vision_transformer(), scorers, problems);
  }
  const TransformerConfig& decoder = config.decoder();
  {
    const ConfigProblems::Scope scope(problems, "decoder");
    ValidateTransformer(scorers, decoder, WidthOfMemory(config),
                        Direction::kCausal, problems);
    if (decoder.tied_embeddings() == TransformerConfig::SOURCE_TARGET_OUTPUT) {
      problems.Add("tied_embeddings",
                   "must not be SOURCE_TARGET_OUTPUT, as an image has no "
                   "tokens: use TARGET_OUTPUT");
    }
  }
  problems.RequireInRange("map_layer", config.map_layer(), -1,
                          std::max(decoder.layers(), 1) - 1);
  problems.CheckOwnRanges(config);
  if (!config.has_tokens()) return;
  if (config.begin().empty()) problems.Add("begin", "must not be empty");
  const ConfigProblems::Scope scope(problems, "tokens");
  ValidateTokens(config.tokens(), problems);
}

template <typename T>
Captioner<T>::Captioner(const CaptionerConfig& config, const ImageShape& images,
                        const CaptionIds& ids, const AttentionRegistry& scorers,
                        const ParameterScope<T>& scope)
    : encoder_(config.cross_attention()
                   ? std::make_unique<VisionTransformer<T>>(
                         config.vision_transformer(), images, scorers,
                         scope.Sub("encoder"))
                   : nullptr),
      decoder_(config.decoder(), scorers,
               {.memory_width = WidthOfMemory(config),
                .vocabulary = ids.count,
                .special_ids = ids.special,
                .alignment = {.layer = config.map_layer()}},
               scope.Sub("decoder")) {}

template <typename T>
Memory<T> Captioner<T>::Encode(Forward<T>& forward, int64_t count,
                               Var<T> images) const {
  Memory<T> memory;
  memory.sources = count;
  if (encoder_ == nullptr) return memory;
  REGARD_CHECK_EQ(images.dim(0), count) << "images";
  memory.values = (*encoder_)(forward, images);
  return memory;
}

REGARD_INSTANTIATE_CLASS(Captioner);

}  // namespace regard
