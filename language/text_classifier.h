// A BERT that predicts the class of a text or of a pair of texts, with its
// data, for training and evaluation. A pair is read as [CLS] first [SEP] second
// [SEP], with token type 0 up to the first [SEP] and 1 after it.
#ifndef LANGUAGE_TEXT_CLASSIFIER_H_
#define LANGUAGE_TEXT_CLASSIFIER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "autodiff/arena.h"
#include "data/text/text_splits.h"
#include "data/text/wordpiece.h"
#include "evaluation/class_names.h"
#include "evaluation/prediction.h"
#include "language/bert.h"
#include "language/bert_model.h"
#include "language/text_classifier.pb.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

// Adds problems under paths relative to `config`.
void ValidateTextClassifier(const TextClassifierConfig& config,
                            const AttentionRegistry& scorers,
                            ConfigProblems& problems);

// Has the parameters of Bert, and "classifier.{weight,bias}".
class TextClassifier : public BertBasedModel {
 public:
  // `config` must have passed ValidateTextClassifier(). If the model has too
  // few positions for the shortest input, or too few types for pairs, nothing
  // is encoded. ValidateData() then reports a problem, and no other function
  // may be called.
  TextClassifier(const TextClassifierConfig& config,
                 const AttentionRegistry& scorers, WordPiece pieces,
                 LabelledSplits data, const ModelOptions& options);

  // Adds problems where the config does not fit the data, under paths relative
  // to the config.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const override {
    return parameters_;
  }
  int64_t num_examples() const override {
    return static_cast<int64_t>(train_.size());
  }
  SequenceLengths Lengths(int64_t example) const override {
    return {
        static_cast<int64_t>(train_[static_cast<size_t>(example)].ids.size()),
        0};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes loss and accuracy on dev and test.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Computes loss and accuracy of at least one text. The outputs are the
  // likeliest classes.
  EvaluatedSet Classify(Forward<float>& forward,
                        absl::Span<const LabelledText> texts) const;

  // Predicts the class of a text, of a pair separated by a tab, or of an
  // example. Examples are from test, or from dev if there is no test set.
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const;

  // Traces all classes, for the same inputs as Predict().
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;

  // Returns the natural logarithms of the class probabilities.
  std::vector<float> Predict(Forward<float>& forward,
                             const LabelledText& text) const;

  const Bert<float>& bert() const override { return bert_; }
  const BertConfig& bert_config() const override { return config_.bert(); }
  const WordPiece& pieces() const override { return pieces_; }
  int64_t longest() const override;
  const TextClassifierConfig& config() const { return config_; }
  const LabelledSplits& data() const { return data_; }
  const ClassNames& names() const { return names_; }

 private:
  struct Example {
    std::vector<int32_t> ids;
    int64_t second;  // index of the first id of the second text
    int32_t label;
  };

  // Returns the reason why the text cannot be encoded. Empty if it can be
  // encoded.
  std::string ReasonToReject(const LabelledText& text) const;
  // Returns the typed text or the example of `request`. The label of a typed
  // text is -1.
  absl::StatusOr<LabelledText> Read(const PredictionRequest& request) const;
  Example Encode(const LabelledText& text) const;
  // Returns an empty list if any text cannot be encoded.
  std::vector<Example> Encode(absl::Span<const LabelledText> texts) const;
  // Sets `labels` to the labels of the examples.
  Var<float> Logits(Forward<float>& forward, const std::vector<Example>& texts,
                    absl::Span<const int64_t> examples,
                    absl::Span<const int32_t>* labels) const;

  // Maps the outputs of bert_, [batch, time, width], to logits [batch,
  // classes].
  Var<float> Head(Forward<float>& forward, Var<float> hidden,
                  absl::Span<const int32_t> lengths) const;

  const TextClassifierConfig config_;
  const WordPiece pieces_;
  const LabelledSplits data_;
  const ClassNames names_;
  ParameterStore<float> parameters_;
  Bert<float> bert_;
  LinearLayer<float> classifier_;
  const std::vector<Example> train_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_CLASSIFIER_H_
