#include "vision/captioner.h"

#include "absl/strings/str_cat.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

int64_t WidthOfMemory(const CaptionerConfig& config) {
  return config.cross_attention()
             ? config.vision_transformer().transformer().width()
             : 0;
}

int64_t LayerOfMap(const CaptionerConfig& config) {
  return config.map_layer() < 0 ? config.decoder().layers() - 1
                                : config.map_layer();
}

}  // namespace

void ValidateCaptioner(const CaptionerConfig& config,
                       const ScorerRegistry& scorers,
                       ConfigProblems& problems) {
  const size_t before = problems.problems().size();
  {
    const ConfigProblems::Scope scope(problems, "vision_transformer");
    ValidateVisionTransformer(config.vision_transformer(), scorers, problems);
  }
  if (problems.problems().size() > before) return;
  const TransformerConfig& decoder = config.decoder();
  {
    const ConfigProblems::Scope scope(problems, "decoder");
    ValidateTransformer(scorers, decoder, WidthOfMemory(config), problems);
    if (decoder.tied_embeddings() == TransformerConfig::SOURCE_TARGET_OUTPUT) {
      problems.Add("tied_embeddings",
                   "an image has no tokens to share with: use TARGET_OUTPUT");
    }
  }
  problems.RequireInRange("map_layer", config.map_layer(), -1,
                          decoder.layers() - 1);
}

template <typename T>
Captioner<T>::Captioner(const CaptionerConfig& config, const ImageShape& images,
                        int64_t vocabulary, const ScorerRegistry& scorers,
                        const ParameterScope<T>& scope)
    : map_layer_(LayerOfMap(config)),
      encoder_(config.cross_attention()
                   ? std::make_unique<VisionTransformer<T>>(
                         config.vision_transformer(), images, scorers,
                         scope.Sub("encoder"))
                   : nullptr),
      decoder_(
          config.decoder(), scorers,
          {.memory_width = WidthOfMemory(config), .vocabulary = vocabulary},
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

template <typename T>
Var<T> Captioner<T>::ImageMap(absl::Span<const AttentionMap<T>> maps) const {
  int64_t layer = 0;
  for (const AttentionMap<T>& map : maps) {
    if (!map.over_memory) continue;
    if (layer++ == map_layer_) return MemoryAlignment<T>({&map, 1});
  }
  REGARD_CHECK(false) << "no map of layer " << map_layer_ << " among "
                      << maps.size();
  return Var<T>();
}

template class Captioner<float>;
template class Captioner<double>;

}  // namespace regard
