// BERT and a text with masked words, as a trainer sees them.
#ifndef LANGUAGE_MASKED_WORD_MODEL_H_
#define LANGUAGE_MASKED_WORD_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "data/text/wordpiece.h"
#include "evaluation/answer.h"
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

// Paths are relative to `config`.
void ValidateMaskedWordModel(const BertConfig& config,
                             const AttentionRegistry& scorers,
                             ConfigProblems& problems);

// Parameters are those of Bert, those of TransformerHead under "masked_words"
// and, with next sentences, "next_sentence.{weight,bias}".
//
// In training, what is masked is a function of (seed, step, example); the
// number of tokens that the loss is divided by is one of the example alone:
// MaskedText::Predicted(), which whole words may not fill.
class MaskedWordModel : public BertModel {
 public:
  // `config` has passed ValidateMaskedWordModel(); see also ValidateData().
  MaskedWordModel(const BertConfig& config, const AttentionRegistry& scorers,
                  WordPiece pieces, const TextSplits& text,
                  const ModelOptions& options);

  // Adds what in the config does not fit the text, under paths relative to the
  // config. Nothing else may be called if there is a problem.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const override {
    return parameters_;
  }
  int64_t num_examples() const override { return train_.size(); }
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  // Next sentences are of each example.
  int64_t CountTerm(size_t term,
                    absl::Span<const int64_t> examples) const override {
    return term == 0 ? CountWork(examples)
                     : static_cast<int64_t>(examples.size());
  }
  // Examples that are no pairs are of one length, but for the last.
  SequenceLengths Lengths(int64_t example) const override {
    if (!next_sentence_.has_value()) return {0, 0};
    return {train_.Length(example), 0};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // On a fixed 15 % of the known tokens of dev and test, each of which [MASK]
  // takes the place of: loss, token_accuracy, and unigram_loss, the
  // cross-entropy of the frequencies in the training text, if there is one,
  // among known tokens; with next sentences, next_sentence_loss and
  // next_sentence_accuracy.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;
  // The same of these examples. Inputs are texts with masked tokens; references
  // and outputs are the tokens that stood there and the likeliest ones.
  EvaluatedSet Predict(Forward<float>& forward, const MaskedText& text,
                       absl::Span<const int64_t> examples) const;

  // Fills in each [MASK] of a text, or of an example of test, else of dev,
  // whose answer is its tokens. With next sentences, a text may be two with a
  // tab between; without [MASK], says whether the second follows.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question,
                                  const AnswerOptions& options) const;

  // Of the same texts: the likeliest word of each [MASK]. Without one, what
  // BERT makes of a text that is not cut.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;

  const Bert<float>& bert() const override { return bert_; }
  const BertConfig& bert_config() const override { return config_; }
  const WordPiece& pieces() const override { return pieces_; }
  int64_t longest() const override;
  // Whether a token of dev may be masked.
  bool predicts_on_dev() const {
    for (int64_t i = 0; i < dev_.size(); ++i) {
      if (dev_.Predicted(i) > 0) return true;
    }
    return false;
  }
  bool has_dev() const { return dev_.size() > 0; }
  const MaskedText& dev() const { return dev_; }
  const MaskedText& test() const { return test_; }
  // Of dev, or of the training text if there is no dev.
  const MaskedText& shown() const { return has_dev() ? dev_ : train_; }
  static MaskedText::Masking EvaluationMasking();
  const EncodedText& train_ids() const { return train_ids_; }
  // Tokens but [CLS], with spaces between.
  std::string TextOf(absl::Span<const int32_t> ids) const;

 private:
  struct Asked {
    bool pair = false;      // that was typed
    std::string text = {};  // as it was typed; of an example, its tokens
    std::vector<int32_t> ids = {};
    std::vector<int32_t> types = {};      // empty: all 0
    std::vector<int32_t> positions = {};  // of [MASK]
    std::string reference = {};
    std::vector<std::string> notes = {};
  };
  // Begins a step of `forward`.
  absl::StatusOr<Asked> Read(Forward<float>& forward,
                             const Question& question) const;
  absl::StatusOr<Asked> ReadTyped(absl::string_view text) const;
  absl::Status WithoutMask(const Question& question) const;
  // Whether the second text of a pair follows the first.
  Answered AnswerPair(Forward<float>& forward, const Asked& asked,
                      const AnswerOptions& options) const;
  // What was asked with `words` in the places of its masks.
  std::string FilledIn(const Question& question, const Asked& asked,
                       absl::Span<const int32_t> words) const;
  // log p of each word at the positions, [positions, vocabulary].
  Var<float> Fill(Forward<float>& forward, const Asked& asked) const;

  std::vector<bool> KnownTokens() const;

  const BertConfig config_;
  const ModelOptions options_;
  const WordPiece pieces_;
  const EncodedText train_ids_;
  const EncodedText dev_ids_;
  const EncodedText test_ids_;
  std::vector<int64_t> counts_;  // of each id in the training text
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
