// BERT that says of which class a text is, or a pair of texts, as a trainer
// sees it. A pair is read as [CLS] first [SEP] second [SEP], with token types 0
// up to the first [SEP] and 1 behind it.
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
#include "evaluation/answer.h"
#include "evaluation/class_names.h"
#include "language/bert.h"
#include "language/bert_model.h"
#include "language/text_classifier.pb.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

// Paths are relative to `config`.
void ValidateTextClassifier(const TextClassifierConfig& config,
                            const AttentionRegistry& scorers,
                            ConfigProblems& problems);

// Parameters are those of Bert, and "classifier.{weight,bias}".
class TextClassifier : public BertModel {
 public:
  // `config` has passed ValidateTextClassifier(). If the model does not know
  // the positions of what a text or a pair has at least, or the types of a
  // pair, nothing is encoded: ValidateData() says so, and nothing else may be
  // called.
  TextClassifier(const TextClassifierConfig& config,
                 const AttentionRegistry& scorers, WordPiece pieces,
                 LabelledSplits data, const ModelOptions& options);

  // Adds what in the config does not fit, under paths relative to it.
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
  // On dev and test: loss and accuracy.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // The same of these texts, at least one; the outputs are the likeliest
  // classes.
  EvaluatedSet Classify(Forward<float>& forward,
                        absl::Span<const LabelledText> texts) const;

  // The class of a text, of a pair with a tab between, or of an example of
  // test, else of dev.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question,
                                  const AnswerOptions& options) const;

  // Of the same: each class.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;

  // Natural logarithms of the probabilities of the classes.
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
    int64_t second;  // where the ids of the second text begin
    int32_t label;
  };

  // Empty if the text can be encoded, else why it cannot.
  std::string WhyNot(const LabelledText& text) const;
  // What is asked about; its label is -1 if it was typed.
  absl::StatusOr<LabelledText> Read(const Question& question) const;
  Example Encode(const LabelledText& text) const;
  // None if one of them cannot be.
  std::vector<Example> Encode(absl::Span<const LabelledText> texts) const;
  // Sets `labels` to those of the examples.
  Var<float> Logits(Forward<float>& forward, const std::vector<Example>& texts,
                    absl::Span<const int64_t> examples,
                    absl::Span<const int32_t>* labels) const;

  // What bert_ gives [batch, time, width] -> logits [batch, classes].
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
