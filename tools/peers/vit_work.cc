#include "tools/peers/vit_work.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "data/images/image_set.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "tools/peers/step_data.h"
#include "vision/image_classifier.h"
#include "vision/vision_transformer.pb.h"

namespace regard {

namespace {

VisionTransformerConfig ConfigOf(const WorkOptions& options) {
  VisionTransformerConfig config;
  config.set_patch(static_cast<int>(options.patch));
  TransformerConfig& transformer = *config.mutable_transformer();
  transformer = TransformerOf(options);
  transformer.mutable_feed_forward()->set_activation(FeedForwardConfig::GELU);
  transformer.mutable_position_embedding()->set_kind(
      PositionEmbeddingConfig::LEARNED);
  return config;
}

ImageSplits DataOf(const WorkOptions& options) {
  ImageSplits data;
  data.train.shape = {options.channels, options.source_time,
                      options.source_time};
  data.train.pixels = ImageData(options);
  for (int64_t i = 0; i < options.target_vocabulary; ++i) {
    data.classes.push_back(absl::StrCat("class ", i));
  }
  data.train.labels = TextData(options.batch, options.target_vocabulary);
  return data;
}

std::unique_ptr<ImageClassifier> MakeClassifier(
    const VisionTransformerConfig& config, const WorkOptions& options) {
  return std::make_unique<ImageClassifier>(config, BuiltInScorers(),
                                           DataOf(options),
                                           ModelOptions{.loss = {}, .seed = 1});
}

VisionTransformerConfig WithBiases(VisionTransformerConfig config) {
  config.mutable_transformer()->mutable_attention()->set_bias(true);
  return config;
}

class ClassificationWork : public TimedWork {
 public:
  explicit ClassificationWork(const WorkOptions& options)
      : model_(MakeClassifier(WithBiases(ConfigOf(options)), options)),
        pool_(options.threads),
        forward_(tape_, parameters(), /*gradients=*/nullptr) {
    tape_.set_recording(false);
  }

  ParameterStore<float>& parameters() override { return model_->parameters(); }

  void Step() override {
    const InferenceThreads threads(pool_);
    predicted_ = model_->Predict(forward_, model_->data().train);
  }

  std::vector<double> NumbersToCompare() override {
    Step();
    return {predicted_.end() - model_->classes(), predicted_.end()};
  }

 private:
  const std::unique_ptr<ImageClassifier> model_;
  WorkerPool pool_;
  Tape<float> tape_;
  Forward<float> forward_;
  std::vector<float> predicted_;
};

}  // namespace

std::unique_ptr<Model<float>> MakeImageModel(const WorkOptions& options) {
  return MakeClassifier(ConfigOf(options), options);
}

std::unique_ptr<TimedWork> MakeClassificationWork(const WorkOptions& options) {
  return std::make_unique<ClassificationWork>(options);
}

}  // namespace regard
