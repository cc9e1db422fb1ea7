// A language model with its text, for training and evaluation.
#ifndef LANGUAGE_TEXT_MODEL_H_
#define LANGUAGE_TEXT_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "autodiff/arena.h"
#include "data/text/text_splits.h"
#include "evaluation/prediction.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "optimization/model.h"
#include "seq2seq/output_head.h"
#include "seq2seq/padded_ids.h"

namespace regard {

// Returns the vocabulary in `text`, which must be valid. If there is none,
// makes a vocabulary from the characters of all splits or from the words of the
// training text. For BYTE_PAIRS, `text` must contain a vocabulary.
TextVocabulary VocabularyOf(const TextSplits& text,
                            const LanguageModelConfig& config);

// Part of a text: the model reads ids[first .. first + length), and predicts
// the id after each of them. The first `skipped` predictions are ignored.
struct TextWindow {
  int64_t first;
  int64_t length;
  int64_t skipped = 0;
};

// Returns a batch. A target is -1 if nothing is predicted or if the prediction
// is ignored.
DecoderBatch MakeTextBatch(absl::Span<const int32_t> ids,
                           absl::Span<const TextWindow> windows, Arena& arena);

// A language model with its training, evaluation and tracing.
//
// With BLOCKS, example i begins at id i * stride. Each example has `block` ids
// to read, and one more id to predict. With LINES, example i is line i.
//
// The trainer draws examples in a random order, which is a function of (seed,
// epoch). With stride 1, the blocks of an epoch have the distribution of
// nanoGPT's random offsets, but no block is repeated within an epoch.
class TrainableLanguageModel : public Model<float> {
 public:
  // `config` must have passed ValidateLanguageModel(); see also Problem().
  TrainableLanguageModel(const LanguageModelConfig& config,
                         const AttentionRegistry& scorers,
                         const TextSplits& text, const ModelOptions& options);

  // Returns the reason why the text does not fit the config's block. Empty if
  // the text fits. If it does not fit, no other function may be called.
  std::string Problem() const;

  ParameterStore<float>& parameters() override { return model_.parameters(); }
  int64_t num_examples() const override;
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  // Returns {0, 0} for blocks, because all blocks have the same length.
  SequenceLengths Lengths(int64_t example) const override {
    if (!model_.vocabulary().lines()) return {0, 0};
    return {WindowOf(example).length, 0};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes loss, perplexity and token_accuracy on all of dev and test. With
  // BLOCKS, the first id of a split is not predicted. Also computes:
  // * prefix_matching if the config enables it.
  // * bits_per_character if the units are not words and at least one character
  //   begins in a predicted id. The <eos> of a line counts as its newline.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Continues a text with the likeliest ids. An example is a line or block of
  // test, or of dev if there is no test set. The first half of an example is
  // continued.
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const;

  // Traces the pass that predicts each id of a text from the ids before it. The
  // text is followed by the target or, without a target, by the likeliest id.
  // At most most_tokens ids of an example are read. Returns an error if the
  // input has more ids than a block.
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;
  // Traces a pass over `ids`. The target of each id is the next id, and the
  // target of the last id is `last`.
  TraceablePrediction<float> TraceIds(std::vector<int32_t> ids,
                                      int32_t last) const;

  const LanguageModelConfig& config() const { return config_; }
  const LanguageModel& language_model() const { return model_; }
  const EncodedText& train() const { return train_; }
  const EncodedText& dev() const { return dev_; }
  const EncodedText& test() const { return test_; }
  // Returns whether any id of dev is predicted.
  bool has_dev() const { return !EvaluationWindows(dev_).empty(); }

 private:
  // A text to continue, and the remaining ids of the example.
  struct EncodedInput {
    std::vector<int32_t> prompt;
    absl::Span<const int32_t> rest = {};
  };
  absl::StatusOr<EncodedInput> Read(const PredictionRequest& request) const;

  TextWindow WindowOf(int64_t example) const;
  std::vector<TextWindow> EvaluationWindows(const EncodedText& text) const;
  // Returns the number of characters that the windows predict. The unit must
  // not be WORDS.
  int64_t PredictedCharacters(const EncodedText& text,
                              absl::Span<const TextWindow> windows) const;
  // Returns the window of each line.
  static std::vector<TextWindow> LinesOf(const EncodedText& text);
  Var<float> Readout(Forward<float>& forward, const DecoderBatch& batch) const;

  const LanguageModelConfig config_;
  const int64_t stride_;
  LanguageModel model_;
  const bool only_test_;  // whether the whole text is test data
  const EncodedText train_;
  const std::vector<TextWindow> train_lines_;
  const EncodedText dev_;
  const EncodedText test_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_MODEL_H_
