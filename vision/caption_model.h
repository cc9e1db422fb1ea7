// A captioner and its images, as a trainer sees them.
#ifndef VISION_CAPTION_MODEL_H_
#define VISION_CAPTION_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/attention_maps.h"
#include "attention/inspection/trace.h"
#include "data/images/caption_set.h"
#include "data/target_lengths.h"
#include "evaluation/answer.h"
#include "optimization/model.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/output_head.h"
#include "seq2seq/padded_ids.h"
#include "vision/caption_tokens.h"
#include "vision/captioner.h"
#include "vision/captioner.pb.h"

namespace regard {

// How attention agrees with what words are about.
struct Pointing {
  int64_t words = 0;    // that are about a quadrant
  int64_t correct = 0;  // whose quadrant has the most attention of the four
  double mass = 0;      // attention on their quadrants, summed

  double Accuracy() const;
  double MeanMass() const;
};

class CaptionModel : public Model<float> {
 public:
  // `config` has passed ValidateCaptioner(); see also ValidateData(). `search`,
  // which has passed ValidateSearch(), is how Evaluate() writes sentences.
  CaptionModel(const CaptionerConfig& config, const AttentionRegistry& scorers,
               CaptionSplits data, const ModelOptions& options,
               const SearchConfig& search = {});

  // Adds what of the config does not fit the images and sentences, under paths
  // relative to it. Nothing else may be called if it does not.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  // Sentences: an image may have several.
  int64_t num_examples() const override { return std::ssize(train_); }
  // Tokens that are predicted, the end included.
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  void BeginEpoch(std::optional<int64_t> epoch) override {
    epoch_ = epoch.value_or(0);
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // On dev and test: exact_match, bleu, cider_d and cut_outputs, the number
  // that ended at the limit of the search, of the sentences written for the
  // images; loss, token_accuracy and, with cross-attention to canvases,
  // pointing_accuracy and pointing_mass of the true ones.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // A sentence about the image in a file, or about one of test, else of
  // dev.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question) const;

  // Sentences about the same images, best first, as `search`, which has passed
  // ValidateSearch(), finds them. Their limits are in tokens after the prompt.
  struct Described {
    std::string text;          // the prompt included
    std::vector<int32_t> ids;  // after it
    double score;
    bool at_limit = false;  // it ended at the limit of the search
  };
  absl::StatusOr<std::vector<Described>> Describe(
      Forward<float>& forward, const Question& question,
      const SearchConfig& search) const;

  // Of the same images: the tokens after the prompt, given those before; those
  // of options.target, or `ids`.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;
  absl::StatusOr<Traced<float>> Trace(const Question& question,
                                      std::vector<int32_t> ids) const;

  // The best sentence for each image, without prompt. All are one batch.
  std::vector<std::vector<int32_t>> GenerateCaptions(
      Forward<float>& forward, const CaptionSet& set,
      absl::Span<const int64_t> images) const;

  // The attention weights with which each token of a sentence (with prompt) is
  // predicted, at layer config.map_layer(): [ids, tokens of the image]; zeros
  // for those of the prompt. With cross-attention only.
  std::vector<float> TokenAttention(Forward<float>& forward,
                                    const CaptionSet& set, int64_t image,
                                    absl::Span<const int32_t> ids) const;

  // Shares of the attention of `tokens` [tokens] on each quadrant.
  std::vector<double> OnQuadrants(absl::Span<const float> tokens) const;

  // The mean mass of maps that are the same everywhere.
  double UniformMass(const CaptionSet& set) const;

  const CaptionerConfig& config() const { return config_; }
  const CaptionSplits& data() const { return data_; }
  const Captioner<float>& captioner() const { return captioner_; }
  const CaptionTokens& tokens() const { return tokens_; }
  // In tokens after the prompt, of sources that are as many ids as patches.
  const TargetLengths& lengths() const { return lengths_; }
  // The prompt in tokens.
  absl::Span<const int32_t> prompt() const {
    return absl::MakeConstSpan(prompt_).subspan(1);
  }
  // Of a true sentence after the prompt, as `tokens` spell them.
  std::vector<std::string> WithoutPrompt(const Caption& caption) const;
  // The quadrant that each token of a true sentence is about: the first of a
  // word has that of the word; -1 where there is none.
  std::vector<int32_t> QuadrantsOf(const Caption& caption) const;

 private:
  struct Asked {
    std::shared_ptr<const CaptionSet> typed;  // null for an example
    const CaptionSet* set;
    int64_t image;
    std::vector<std::string> prompt;
  };
  // A sentence after the prompt.
  struct Written {
    std::vector<int32_t> ids = {};
    std::vector<std::string> names = {};  // of each id
    std::string text = {};
  };
  absl::StatusOr<Asked> Read(const Question& question) const;
  // The best one.
  Hypothesis Continue(Forward<float>& forward, const Asked& asked) const;
  Written WrittenAs(std::vector<int32_t> ids) const;
  Traced<float> TraceWritten(const Asked& asked, const Question& question,
                             Written written) const;

  // The first id and those of words.
  std::vector<int32_t> PromptIds(absl::Span<const std::string> words) const;
  // The hypotheses of each image after `prompt`, as of PromptIds().
  std::vector<std::vector<Hypothesis>> Write(Forward<float>& forward,
                                             const CaptionSet& set,
                                             absl::Span<const int64_t> images,
                                             absl::Span<const int32_t> prompt,
                                             const SearchConfig& search) const;
  // The ids of a sentence with its end.
  std::vector<int32_t> Encode(absl::Span<const std::string> words) const;
  DecoderBatch MakeBatch(absl::Span<const std::vector<int32_t>> sentences,
                         absl::Span<const int64_t> examples,
                         Arena& arena) const;
  // The readouts of teacher forcing.
  Var<float> Run(Forward<float>& forward, const CaptionSet& set,
                 absl::Span<const int64_t> images,
                 const DecoderBatch& batch) const;
  // The same, with the alignment.
  AttentionMap<float> Align(Forward<float>& forward, const CaptionSet& set,
                            absl::Span<const int64_t> images,
                            const DecoderBatch& batch,
                            Var<float>* readout) const;
  // Patches of an image, as if it were read by cross-attention.
  int64_t CountPatches(const CaptionSet& set) const;
  // Adds exact_match, bleu, cider_d and cut_outputs.
  void EvaluateWritten(Forward<float>& forward, const CaptionSet& set,
                       EvaluatedSet* evaluated) const;
  Memory<float> EncodeImages(Forward<float>& forward, const CaptionSet& set,
                             absl::Span<const int64_t> images) const;
  void AddPointing(absl::Span<const float> tokens, int32_t quadrant,
                   Pointing* pointing) const;

  const CaptionerConfig config_;
  const SearchConfig search_;
  const CaptionSplits data_;
  const CaptionTokens tokens_;
  const std::vector<std::string> prompt_words_;
  const std::vector<int32_t> prompt_;  // with the first id
  ParameterStore<float> parameters_;
  Captioner<float> captioner_;
  std::vector<std::vector<int32_t>> train_;
  TargetLengths lengths_;
  int64_t epoch_ = 0;  // whose variants of the images are trained on
};

}  // namespace regard

#endif  // VISION_CAPTION_MODEL_H_
