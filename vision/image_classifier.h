// A Vision Transformer that classifies images, as a trainer sees it.
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
#include "evaluation/answer.h"
#include "evaluation/class_names.h"
#include "optimization/model.h"
#include "seq2seq/output_head.h"
#include "vision/vision_transformer.h"
#include "vision/vision_transformer.pb.h"

namespace regard {

// Parameters: "encoder.*", those of the VisionTransformer, and
// "head.{weight,bias}", [classes, width].
class ImageClassifier : public Model<float> {
 public:
  // `config` has passed ValidateVisionTransformer(); see also
  // encoder().ValidateImages(), without which nothing else may be called. The
  // splits have images of one shape.
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
  // On dev and test: accuracy and loss.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // The class of the image in a file, or of one of test, else of dev.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question,
                                  const AnswerOptions& options) const;

  // Of the same images: each class.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;

  // Natural logarithms of the probabilities of the classes, for all images of
  // `set`: [images, classes].
  std::vector<float> Predict(Forward<float>& forward,
                             const ImageSet& set) const;

  // The same of chosen images, on the tape of a step that has begun.
  Var<float> PredictBatch(Forward<float>& forward, const ImageSet& set,
                          absl::Span<const int64_t> images) const;

  const VisionTransformerConfig& config() const { return config_; }
  const ImageSplits& data() const { return data_; }
  const VisionTransformer<float>& encoder() const { return encoder_; }
  int64_t classes() const { return head_.vocabulary(); }
  const ClassNames& names() const { return names_; }

 private:
  // The image that is asked about, alone; of an example with its label.
  absl::StatusOr<ImageSet> Read(const Question& question) const;
  // [images, width]: what the head reads.
  Var<float> Readout(Forward<float>& forward, const ImageSet& set,
                     absl::Span<const int64_t> images) const;

  const VisionTransformerConfig config_;
  const ImageSplits data_;
  const ClassNames names_;
  ParameterStore<float> parameters_;
  VisionTransformer<float> encoder_;
  LinearHead<float> head_;
  int64_t epoch_ = 0;  // whose variants of the images are trained on
};

}  // namespace regard

#endif  // VISION_IMAGE_CLASSIFIER_H_
