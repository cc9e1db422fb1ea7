// A BERT that predicts masked words, with its text, for training and
// evaluation.
#ifndef LANGUAGE_MASKED_WORD_MODEL_H_
#define LANGUAGE_MASKED_WORD_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "data/text/wordpiece.h"
#include "evaluation/prediction.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "language/bert_model.h"
#include "language/masked_text.h"
#include "language/text_model.h"
#include "nn/layers/linear.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "seq2seq/transformer_head.h"

namespace regard {

// Adds problems under paths relative to `config`.
void ValidateMaskedWordModel(const BertConfig& config,
                             const AttentionRegistry& scorers,
                             ConfigProblems& problems);

// Has the parameters of Bert, the parameters of TransformerHead under
// "masked_words" and, with next_sentence, "next_sentence.{weight,bias}".
//
// In training, the masks are a function of (seed, step, example). The
// denominator of the loss is the sum of MaskedText::NumPredicted(), which
// depends only on the examples. With whole words, fewer tokens may be masked.
class MaskedWordModel : public BertBasedModel {
 public:
  // `config` must have passed ValidateMaskedWordModel(); see also
  // ValidateData().
  MaskedWordModel(const BertConfig& config, const AttentionRegistry& scorers,
                  WordPiece pieces, const TextSplits& text,
                  const ModelOptions& options);

  // Adds problems where the config does not fit the text, under paths relative
  // to the config. If there is a problem, no other function may be called.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const override {
    return parameters_;
  }
  int64_t num_examples() const override { return train_.size(); }
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  // The next-sentence term has one target per example.
  int64_t CountTermElements(size_t term,
                            absl::Span<const int64_t> examples) const override {
    return term == 0 ? CountWork(examples)
                     : static_cast<int64_t>(examples.size());
  }
  // Returns {0, 0} without pairs, because all examples except the last then
  // have the same length.
  SequenceLengths Lengths(int64_t example) const override {
    if (!next_sentence_.has_value()) return {0, 0};
    return {train_.Length(example), 0};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes metrics on dev and test. A fixed fraction of the known tokens,
  // 0.15, is replaced by [MASK] and predicted. The metrics are:
  // * loss and token_accuracy.
  // * unigram_loss if there is a training text: the loss of a model that always
  //   predicts the relative frequencies of the known tokens in this text.
  // * next_sentence_loss and next_sentence_accuracy with next_sentence.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;
  // Computes the metrics of Evaluate() for the given examples. Inputs are the
  // masked texts, references are the original tokens, and outputs are the
  // likeliest tokens.
  EvaluatedSet Predict(Forward<float>& forward, const MaskedText& text,
                       absl::Span<const int64_t> examples) const;

  // Fills in each [MASK] of a text or an example. Examples are from test, or
  // from dev if there is no test set. The reference of an example is its text.
  // With next_sentence, a text may be two texts separated by a tab. If such a
  // pair has no [MASK], predicts whether the second text follows the first.
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const;

  // Traces the likeliest word of each [MASK], for the same inputs as Predict().
  // A text without [MASK] must not be so long that it is truncated. Its trace
  // has no outputs.
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;

  const Bert<float>& bert() const override { return bert_; }
  const BertConfig& bert_config() const override { return config_; }
  const WordPiece& pieces() const override { return pieces_; }
  int64_t longest() const override;
  // Returns whether any token of dev may be masked.
  bool predicts_on_dev() const {
    for (int64_t i = 0; i < dev_.size(); ++i) {
      if (dev_.NumPredicted(i) > 0) return true;
    }
    return false;
  }
  bool has_dev() const { return dev_.size() > 0; }
  const MaskedText& dev() const { return dev_; }
  const MaskedText& test() const { return test_; }
  // Returns dev, or the training text if there is no dev split.
  const MaskedText& shown() const { return has_dev() ? dev_ : train_; }
  static MaskedText::Masking EvaluationMasking();
  const EncodedText& train_ids() const { return train_ids_; }
  // Returns the tokens, except [CLS], joined by spaces.
  std::string JoinTokens(absl::Span<const int32_t> ids) const;

 private:
  struct EncodedInput {
    bool pair = false;      // whether the input is a typed pair
    std::string text = {};  // the typed text, or the tokens of an example
    std::vector<int32_t> ids = {};
    std::vector<int32_t> types = {};      // empty means all 0
    std::vector<int32_t> positions = {};  // positions of [MASK]
    std::string reference = {};
    std::vector<std::string> notes = {};
  };
  // Begins a step of `forward`.
  absl::StatusOr<EncodedInput> Read(Forward<float>& forward,
                                    const PredictionRequest& request) const;
  absl::StatusOr<EncodedInput> ReadTyped(absl::string_view text) const;
  absl::Status NoMaskError(const PredictionRequest& request) const;
  // Predicts whether the second text of a pair follows the first.
  Prediction PredictPair(Forward<float>& forward, const EncodedInput& encoded,
                         const PredictionOutputLimits& options) const;
  // Returns the input with `words` in place of its masks.
  std::string FilledText(const PredictionRequest& request,
                         const EncodedInput& encoded,
                         absl::Span<const int32_t> words) const;
  // Returns the log-probability of each word at the masked positions,
  // [positions, vocabulary].
  Var<float> MaskLogProbabilities(Forward<float>& forward,
                                  const EncodedInput& encoded) const;

  std::vector<bool> MaskableTokens() const;

  const BertConfig config_;
  const ModelOptions options_;
  const WordPiece pieces_;
  const EncodedText train_ids_;
  const EncodedText dev_ids_;
  const EncodedText test_ids_;
  std::vector<int64_t> counts_;  // counts of ids in the training text
  const std::vector<bool> known_;
  const MaskedText train_;
  const MaskedText dev_;
  const MaskedText test_;
  ParameterStore<float> parameters_;
  Bert<float> bert_;
  TransformerHead<float> head_;
  std::optional<LinearLayer<float>> next_sentence_;
};

}  // namespace regard

#endif  // LANGUAGE_MASKED_WORD_MODEL_H_
