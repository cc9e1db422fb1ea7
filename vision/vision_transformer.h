// The Vision Transformer: patches of an image, embedded by one product, and a
// stack of Transformer layers over them. Dosovitskiy et al., "An image is worth
// 16x16 words", 2021; the layout is that of timm's.
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

// Parameters: "patch_embedding.{weight,bias}", [width, channels * patch *
// patch]; "class_token" [width] with pooling by it; "position_embedding.weight"
// [tokens, width]; with transformer.embedding_norm, "embedding_norm.*";
// "layers.*" and "norm.*".
template <typename T>
class VisionTransformer {
 public:
  // `config` has passed ValidateVisionTransformer().
  VisionTransformer(const VisionTransformerConfig& config,
                    const ImageShape& images, const AttentionRegistry& scorers,
                    const ParameterScope<T>& scope);

  // Why the images do not fit the config, under the path of the field; empty if
  // they do. Nothing else may be called if they do not.
  void ValidateImages(ConfigProblems& problems) const;
  bool FitsImages() const;

  // images [batch, channels, height, width] -> [batch, tokens, width], the
  // class token first.
  Var<T> operator()(Forward<T>& forward, Var<T> images) const;

  // [batch, tokens, width] -> [batch, width].
  Var<T> Pool(Var<T> tokens) const;

  // What operator() makes of the residual of its last layer.
  Var<T> Finish(Forward<T>& forward, Var<T> residual) const {
    return stack_.Finish(forward, residual);
  }

  int64_t layers() const { return stack_.layers(); }
  // Patches of a column and of a row of the image.
  int64_t rows() const { return images_.height / patch_; }
  int64_t columns() const { return images_.width / patch_; }
  int64_t tokens() const { return first_patch() + rows() * columns(); }
  int64_t first_patch() const { return class_token_.has_value() ? 1 : 0; }

 private:
  const ImageShape images_;
  const int64_t patch_;
  LinearLayer<T> patch_embedding_;
  Parameter<T> class_token_;  // may be absent
  PositionEmbedding<T> positions_;
  std::optional<Norm<T>> embedding_norm_;
  TransformerStack<T> stack_;
  T dropout_;
};

}  // namespace regard

#endif  // VISION_VISION_TRANSFORMER_H_
