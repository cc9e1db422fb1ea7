#include "vision/vision_transformer.h"

#include "absl/strings/str_cat.h"
#include "attention/transformer/initialization.h"
#include "attention/transformer/transformer.pb.h"
#include "attention/transformer/validation.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "nn/initializers.h"
#include "vision/augmentation.h"
#include "vision/patches.h"
#include "vision/vision_transformer.pb.h"

namespace regard {

namespace {

bool HasClassToken(const VisionTransformerConfig& config) {
  return config.pooling() == VisionTransformerConfig::CLASS_TOKEN;
}

// Learned positions have one vector per token.
PositionEmbeddingConfig PositionsOf(const VisionTransformerConfig& config,
                                    const ImageShape& images) {
  const int64_t tokens =
      (HasClassToken(config) ? 1 : 0) +
      images.height / config.patch() * (images.width / config.patch());
  PositionEmbeddingConfig positions = config.transformer().position_embedding();
  positions.set_longest(static_cast<int>(tokens));
  return positions;
}

}  // namespace

void ValidateVisionTransformer(const VisionTransformerConfig& config,
                               const AttentionRegistry& scorers,
                               ConfigProblems& problems) {
  problems.CheckOwnRanges(config);
  problems.CheckRanges(config.augmentation(), "augmentation");
  const ConfigProblems::Scope scope(problems, "transformer");
  ValidateTransformer(scorers, config.transformer(), /*memory_width=*/0,
                      Direction::kBoth, problems);
  NoteCrossAttention(
      config.transformer(),
      "has no effect: a Vision Transformer has no memory to attend to",
      problems);
}

template <typename T>
VisionTransformer<T>::VisionTransformer(const VisionTransformerConfig& config,
                                        const ImageShape& images,
                                        const AttentionRegistry& scorers,
                                        const ParameterScope<T>& scope)
    : images_(images),
      patch_(config.patch()),
      patch_embedding_(
          scope.Sub("patch_embedding"), images.channels * patch_ * patch_,
          config.transformer().width(),
          LinearInitialization(config.transformer().initialization(),
                               /*bias=*/true)),
      class_token_(HasClassToken(config)
                       ? scope.Add("class_token",
                                   {config.transformer().width()}, Zeros())
                       : Parameter<T>()),
      positions_(PositionsOf(config, images),
                 config.transformer().initialization(),
                 config.transformer().width(), scope.Sub("position_embedding")),
      stack_(scorers, config.transformer(), /*memory_width=*/0, scope),
      dropout_(static_cast<T>(config.transformer().has_embedding_dropout()
                                  ? config.transformer().embedding_dropout()
                                  : config.transformer().dropout())) {
  if (config.transformer().embedding_norm()) {
    embedding_norm_.emplace(config.transformer().norm(),
                            config.transformer().width(),
                            scope.Sub("embedding_norm"));
  }
}

template <typename T>
void VisionTransformer<T>::ValidateImages(ConfigProblems& problems) const {
  if (images_.height % patch_ != 0 || images_.width % patch_ != 0 ||
      images_.size() == 0) {
    problems.Add("patch", absl::StrCat("must divide the image size, ",
                                       images_.height, " x ", images_.width));
    return;
  }
  if (const int64_t longest = stack_.longest_position(); tokens() > longest) {
    problems.Add(
        "transformer.attention.attention",
        absl::StrCat(
            "must support ", tokens(),
            " positions, one for each token of an image; supports only ",
            longest));
  }
}

template <typename T>
bool VisionTransformer<T>::FitsImages() const {
  ConfigProblems problems;
  ValidateImages(problems);
  return problems.ok();
}

template <typename T>
Var<T> VisionTransformer<T>::operator()(Forward<T>& forward,
                                        Var<T> images) const {
  const NameScope<T> scope(forward.tape(), "vision_transformer");
  Var<T> x = patch_embedding_(forward, Patches(images, patch_));
  if (class_token_.has_value()) {
    const Var<T> token =
        BroadcastTo(forward[class_token_], {x.dim(0), 1, x.dim(2)});
    x = Concat<T>({token, x}, /*axis=*/1);
  }
  x = positions_(forward, x, /*first=*/0);
  if (embedding_norm_.has_value()) x = (*embedding_norm_)(forward, x);
  x = Dropout(x, dropout_, "embedding");
  return stack_(forward, forward.Site("embedded", x), LayerInputs<T>());
}

template <typename T>
Var<T> VisionTransformer<T>::Pool(Var<T> tokens) const {
  if (!class_token_.has_value()) return Mean(tokens, /*axis=*/1);
  return Slice(tokens, /*axis=*/1, 0, 1)
      .Reshape({tokens.dim(0), tokens.dim(2)});
}

REGARD_INSTANTIATE_CLASS(VisionTransformer);

}  // namespace regard
