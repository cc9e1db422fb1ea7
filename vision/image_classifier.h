// A Vision Transformer that classifies images, with its data, for training and
// evaluation.
#ifndef VISION_IMAGE_CLASSIFIER_H_
#define VISION_IMAGE_CLASSIFIER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "data/images/image_set.h"
#include "evaluation/class_names.h"
#include "evaluation/prediction.h"
#include "optimization/model.h"
#include "seq2seq/output_head.h"
#include "vision/vision_transformer.h"
#include "vision/vision_transformer.pb.h"

namespace regard {

// Has the parameters of VisionTransformer under "encoder", and
// "head.{weight,bias}", [classes, width].
class ImageClassifier : public Model<float> {
 public:
  // `config` must have passed ValidateVisionTransformer(). The images of all
  // splits must have the same shape. If encoder().ValidateImages() reports a
  // problem, no other function may be called.
  ImageClassifier(const VisionTransformerConfig& config,
                  const AttentionRegistry& scorers, ImageSplits data,
                  const ModelOptions& options);

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  int64_t num_examples() const override { return data_.train.size(); }
  void BeginEpoch(std::optional<int64_t> epoch) override {
    epoch_ = epoch.value_or(0);
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes accuracy and loss on dev and test.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Predicts the class of an image file or an example. Examples are images of
  // test, or of dev if there is no test set.
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const;

  // Traces all classes, for the same inputs as Predict().
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;

  // Returns the natural logarithms of the class probabilities of all images of
  // `set`, [images, classes].
  std::vector<float> Predict(Forward<float>& forward,
                             const ImageSet& set) const;

  // Like Predict(), for selected images, on the tape of a step that has begun.
  Var<float> BatchLogProbabilities(Forward<float>& forward, const ImageSet& set,
                                   absl::Span<const int64_t> images) const;

  const VisionTransformerConfig& config() const { return config_; }
  const ImageSplits& data() const { return data_; }
  const VisionTransformer<float>& encoder() const { return encoder_; }
  int64_t classes() const { return head_.vocabulary(); }
  const ClassNames& names() const { return names_; }

 private:
  // Returns a set with only the input image and, for an example, its label.
  absl::StatusOr<ImageSet> Read(const PredictionRequest& request) const;
  // Returns the input of the head, [images, width].
  Var<float> Readout(Forward<float>& forward, const ImageSet& set,
                     absl::Span<const int64_t> images) const;

  const VisionTransformerConfig config_;
  const ImageSplits data_;
  const ClassNames names_;
  ParameterStore<float> parameters_;
  VisionTransformer<float> encoder_;
  LinearHead<float> head_;
  int64_t epoch_ = 0;  // selects the variants of the training images
};

}  // namespace regard

#endif  // VISION_IMAGE_CLASSIFIER_H_
