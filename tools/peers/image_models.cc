#include "tools/peers/image_models.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "data/images/image_set.h"
#include "tools/peers/step_data.h"
#include "tools/peers/transformer_options.h"
#include "vision/image_classifier.h"
#include "vision/vision_transformer.pb.h"

namespace regard {

std::unique_ptr<Model<float>> MakeImageModel(const WorkOptions& options) {
  VisionTransformerConfig config;
  config.set_patch(static_cast<int>(options.patch));
  TransformerConfig& transformer = *config.mutable_transformer();
  transformer = TransformerOf(options);
  transformer.mutable_feed_forward()->set_activation(FeedForwardConfig::GELU);
  transformer.mutable_position_embedding()->set_kind(
      PositionEmbeddingConfig::LEARNED);
  ImageSplits data;
  data.train.shape = {1, options.source_time, options.source_time};
  data.train.pixels = ImageData(options);
  for (int64_t i = 0; i < options.target_vocabulary; ++i) {
    data.classes.push_back(absl::StrCat("class ", i));
  }
  data.train.labels = TextData(options.batch, options.target_vocabulary);
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  return std::make_unique<ImageClassifier>(config, scorers, std::move(data),
                                           ModelOptions{.loss = {}, .seed = 1});
}

}  // namespace regard
