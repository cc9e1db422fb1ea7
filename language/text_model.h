// A language model and its text, as a trainer sees them.
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
#include "evaluation/answer.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "language/text_vocabulary.h"
#include "optimization/model.h"
#include "seq2seq/output_head.h"
#include "seq2seq/padded_ids.h"

namespace regard {

// The one that `text` has, which is valid, and which BYTE_PAIRS need; else that
// of the characters of all splits, or of the words of training.
TextVocabulary VocabularyOf(const TextSplits& text,
                            const LanguageModelConfig& config);

// Part of a text: ids[first .. first + length) are read, and each predicts the
// id after it. The first `skipped` predictions are not counted.
struct TextWindow {
  int64_t first;
  int64_t length;
  int64_t skipped = 0;
};

// A target is -1 where nothing is predicted, or it is not counted.
DecoderBatch MakeTextBatch(absl::Span<const int32_t> ids,
                           absl::Span<const TextWindow> windows, Arena& arena);

// Example i of BLOCKS begins at id i * stride; the last is the last that has
// `block` ids and one to predict. Of LINES, it is line i. Which are drawn, and
// in which order, is the trainer's: a permutation of all that is a function of
// (seed, epoch). With stride 1 the blocks of an epoch have the distribution of
// nanoGPT's random offsets, but for these being drawn with repetition.
class TextModel : public Model<float> {
 public:
  // `config` has passed ValidateLanguageModel(); see also Problem().
  TextModel(const LanguageModelConfig& config, const AttentionRegistry& scorers,
            const TextSplits& text, const ModelOptions& options);

  // Why the text does not fit the config's block; empty if it does. Nothing
  // else may be called if it does not.
  std::string Problem() const;

  ParameterStore<float>& parameters() override { return model_.parameters(); }
  int64_t num_examples() const override;
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  // Blocks are of one length.
  SequenceLengths Lengths(int64_t example) const override {
    if (!model_.vocabulary().lines()) return {0, 0};
    return {WindowOf(example).length, 0};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // On the whole of dev and test, but for the first id of BLOCKS, which nothing
  // predicts: loss, perplexity, token_accuracy and, but for words and where no
  // character begins, bits_per_character, and prefix_matching if the config
  // wants it. The <eos> of a line counts as its newline.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Continues a text by what is likeliest each time; of an example, a line or
  // block of test, else of dev, its first half.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question,
                                  const AnswerOptions& options) const;

  // Traces the same texts, or the first most_tokens ids of an example: the pass
  // that predicts each id from those before. After the text comes the target,
  // or else the likeliest id. More ids than a block has are an error.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;
  // The same of ids, of which each predicts the next; `last` is predicted by
  // the last one.
  Traced<float> TraceIds(std::vector<int32_t> ids, int32_t last) const;

  const LanguageModelConfig& config() const { return config_; }
  const LanguageModel& language_model() const { return model_; }
  const EncodedText& train() const { return train_; }
  const EncodedText& dev() const { return dev_; }
  const EncodedText& test() const { return test_; }
  // Whether anything of dev is predicted.
  bool has_dev() const { return !EvaluationWindows(dev_).empty(); }

 private:
  // A text to continue, and what follows it in an example.
  struct Asked {
    std::vector<int32_t> prompt;
    absl::Span<const int32_t> rest = {};
  };
  absl::StatusOr<Asked> Read(const Question& question) const;

  TextWindow WindowOf(int64_t example) const;
  std::vector<TextWindow> EvaluationWindows(const EncodedText& text) const;
  // Characters that the windows predict; not of words.
  int64_t PredictedCharacters(const EncodedText& text,
                              absl::Span<const TextWindow> windows) const;
  // The ids that are read of each line.
  static std::vector<TextWindow> LinesOf(const EncodedText& text);
  Var<float> Readout(Forward<float>& forward, const DecoderBatch& batch) const;

  const LanguageModelConfig config_;
  const int64_t stride_;
  LanguageModel model_;
  const bool only_test_;  // all of the text is test, and none is trained on
  const EncodedText train_;
  const std::vector<TextWindow> train_lines_;
  const EncodedText dev_;
  const EncodedText test_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_MODEL_H_
