// A Transformer decoder that predicts labels at some positions of a sequence,
// with its data, for training and evaluation.
#ifndef LANGUAGE_TOKEN_CLASSIFIER_H_
#define LANGUAGE_TOKEN_CLASSIFIER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "data/labelled_tokens_source.h"
#include "evaluation/prediction.h"
#include "language/token_classifier.pb.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "seq2seq/transformer_decoder.h"

namespace regard {

// Adds problems under paths relative to `config`.
void ValidateTokenClassifier(const TokenClassifierConfig& config,
                             const AttentionRegistry& scorers,
                             ConfigProblems& problems);

// Computes logits only at the positions that have a label. Has the parameters
// of a TransformerDecoder.
class TokenClassifier : public Model<float> {
 public:
  // `config` must have passed ValidateTokenClassifier().
  TokenClassifier(const TokenClassifierConfig& config,
                  const AttentionRegistry& scorers, LabelledTokenSplits data,
                  const ModelOptions& options);

  // Adds problems where the config does not fit the data, under paths relative
  // to the config.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  int64_t num_examples() const override;
  // Counts labels, the unit of the loss.
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "labels"; }
  SequenceLengths Lengths(int64_t example) const override;
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes the loss and the accuracy, which is the fraction of labels
  // predicted correctly.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Predicts the label of the last token of a typed text, or all labels of an
  // example. A typed text is a list of tokens, written as numbers. Examples are
  // from test, or from dev if there is no test set.
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const;
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;

  const LabelledTokenSplits& data() const { return data_; }
  // Returns the predictions for all labels of the sequences.
  EvaluatedSet Classify(Forward<float>& forward,
                        absl::Span<const LabelledSequence> sequences) const;

 private:
  absl::StatusOr<LabelledSequence> Read(const PredictionRequest& request) const;

  // Returns the readouts [labels, width] at the labelled positions of the
  // chosen sequences. Sets `labels`, in the arena of the step.
  Var<float> Readouts(Forward<float>& forward,
                      absl::Span<const LabelledSequence> sequences,
                      absl::Span<const int64_t> chosen,
                      absl::Span<const int32_t>* labels) const;

  const LabelledTokenSplits data_;
  ParameterStore<float> parameters_;
  TransformerDecoder<float> decoder_;
};

}  // namespace regard

#endif  // LANGUAGE_TOKEN_CLASSIFIER_H_
