// The Vision Transformer: embedded patches of an image, and a stack of
// Transformer layers. Dosovitskiy et al., "An image is worth 16x16 words",
// 2021, in the layout of timm.
#ifndef VISION_VISION_TRANSFORMER_H_
#define VISION_VISION_TRANSFORMER_H_

#include <cstdint>
#include <optional>

#include "attention/attention_registry.h"
#include "attention/transformer/position_embedding.h"
#include "attention/transformer/residual.h"
#include "attention/transformer/stack.h"
#include "autodiff/tape.h"
#include "data/images/image_set.h"
#include "nn/forward.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

class VisionTransformerConfig;

void ValidateVisionTransformer(const VisionTransformerConfig& config,
                               const AttentionRegistry& scorers,
                               ConfigProblems& problems);

// The parameters are:
// * "patch_embedding.{weight,bias}", [width, channels * patch * patch] and
//   [width].
// * "class_token" [width] with pooling: CLASS_TOKEN.
// * "position_embedding.weight" [tokens, width] with learned positions.
// * "embedding_norm.*" with transformer.embedding_norm.
// * "layers.*" and "norm.*".
template <typename T>
class VisionTransformer {
 public:
  // `config` must have passed ValidateVisionTransformer().
  VisionTransformer(const VisionTransformerConfig& config,
                    const ImageShape& images, const AttentionRegistry& scorers,
                    const ParameterScope<T>& scope);

  // Adds a problem under the path of the field if the images do not fit the
  // config. If there is a problem, no other function may be called.
  void ValidateImages(ConfigProblems& problems) const;
  bool FitsImages() const;

  // Maps images [batch, channels, height, width] to outputs [batch, tokens,
  // width]. The class token, if there is one, is first.
  Var<T> operator()(Forward<T>& forward, Var<T> images) const;

  // Maps outputs [batch, tokens, width] to [batch, width].
  Var<T> Pool(Var<T> tokens) const;

  // Computes the outputs from the residual stream of the last layer.
  Var<T> ApplyFinalNorm(Forward<T>& forward, Var<T> residual) const {
    return stack_.ApplyFinalNorm(forward, residual);
  }

  int64_t layers() const { return stack_.layers(); }
  // The number of patches in a column and in a row of the image.
  int64_t rows() const { return images_.height / patch_; }
  int64_t columns() const { return images_.width / patch_; }
  int64_t tokens() const { return first_patch() + rows() * columns(); }
  int64_t first_patch() const { return class_token_.has_value() ? 1 : 0; }

 private:
  const ImageShape images_;
  const int64_t patch_;
  LinearLayer<T> patch_embedding_;
  Parameter<T> class_token_;  // empty with pooling: MEAN
  PositionEmbedding<T> positions_;
  std::optional<Norm<T>> embedding_norm_;
  TransformerStack<T> stack_;
  T dropout_;
};

}  // namespace regard

#endif  // VISION_VISION_TRANSFORMER_H_
