// A captioner with its images and captions, for training and evaluation.
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
#include "evaluation/prediction.h"
#include "optimization/model.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/output_head.h"
#include "seq2seq/padded_ids.h"
#include "vision/caption_tokens.h"
#include "vision/captioner.h"
#include "vision/captioner.pb.h"

namespace regard {

// Measures whether the attention of words agrees with the image quadrants that
// the words are about.
struct Pointing {
  int64_t words = 0;    // number of words about a quadrant
  int64_t correct = 0;  // words whose quadrant has the most attention
  double mass = 0;      // summed attention on the words' quadrants

  double Accuracy() const;
  double MeanMass() const;
};

class CaptionModel : public Model<float> {
 public:
  // `config` must have passed ValidateCaptioner(), and `search`
  // ValidateSearch(). ValidateData() checks the data. Evaluate() searches with
  // `search`.
  CaptionModel(const CaptionerConfig& config, const AttentionRegistry& scorers,
               CaptionSplits data, const ModelOptions& options,
               const SearchConfig& search = {});

  // Adds problems where the config does not fit the images and sentences, under
  // paths relative to the config. If there is a problem, no other function may
  // be called.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const { return parameters_; }
  // The number of sentences. An image may have several sentences.
  int64_t num_examples() const override { return std::ssize(train_); }
  // Counts the predicted tokens, including the end token.
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  void BeginEpoch(std::optional<int64_t> epoch) override {
    epoch_ = epoch.value_or(0);
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes the metrics of dev and test:
  // * exact_match, bleu and cider_d of the sentences that the model writes.
  // * cut_outputs: the number of these sentences that were truncated at the
  //   limit of the search.
  // * loss and token_accuracy of the reference sentences.
  // * pointing_accuracy and pointing_mass of the reference sentences, if the
  //   model has cross-attention and the images are canvases.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Writes a sentence about an image file or an example. Examples are images of
  // test, or of dev if there is no test set.
  absl::StatusOr<Prediction> Predict(Forward<float>& forward,
                                     const PredictionRequest& request) const;

  // A sentence about an image.
  struct Described {
    std::string text;          // including the prompt
    std::vector<int32_t> ids;  // without the prompt
    double score;
    bool at_limit = false;  // whether the text was truncated at the limit
  };
  // Writes sentences about an image, best first. Accepts the inputs of
  // Predict(). `search` must have passed ValidateSearch(). Its limits count
  // tokens after the prompt.
  absl::StatusOr<std::vector<Described>> Describe(
      Forward<float>& forward, const PredictionRequest& request,
      const SearchConfig& search) const;

  // Traces how each token after the prompt is predicted from the tokens before
  // it. The tokens are options.target or, in the second function, `ids`.
  // Without a target, they are the model's own sentence. Accepts the inputs of
  // Predict().
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;
  absl::StatusOr<TraceablePrediction<float>> Trace(
      const PredictionRequest& request, std::vector<int32_t> ids) const;

  // Returns the best sentence for each image, without the prompt. Computes all
  // images in one batch.
  std::vector<std::vector<int32_t>> GenerateCaptions(
      Forward<float>& forward, const CaptionSet& set,
      absl::Span<const int64_t> images) const;

  // Returns the weights of the cross-attention in layer config.map_layer(),
  // [ids, tokens of the image]. Row i has the weights at the position that
  // predicts ids[i]. `ids` includes the prompt, whose rows are 0. Requires
  // cross-attention.
  std::vector<float> CrossAttentionWeights(Forward<float>& forward,
                                           const CaptionSet& set, int64_t image,
                                           absl::Span<const int32_t> ids) const;

  // Returns, for each quadrant, the sum of the attention weights of its
  // patches. `tokens` contains the weights of all tokens of an image.
  std::vector<double> SumByQuadrant(absl::Span<const float> tokens) const;

  // Returns the pointing_mass of a model with uniform attention, for the words
  // of `set`.
  double UniformMass(const CaptionSet& set) const;

  const CaptionerConfig& config() const { return config_; }
  const CaptionSplits& data() const { return data_; }
  const Captioner<float>& captioner() const { return captioner_; }
  const CaptionTokens& tokens() const { return tokens_; }
  // The numbers of tokens in the training sentences, without the prompt. The
  // length of the source is the number of patches.
  const TargetLengths& lengths() const { return lengths_; }
  // The tokens of the prompt.
  absl::Span<const int32_t> prompt() const {
    return absl::MakeConstSpan(prompt_).subspan(1);
  }
  // Returns the words of a reference sentence after the prompt, in the spelling
  // of CaptionTokens::SpelledAsDecoded().
  std::vector<std::string> WithoutPrompt(const Caption& caption) const;
  // Returns the quadrant of each token of a reference sentence. The first token
  // of a word has the quadrant of the word. Other tokens, and words without a
  // quadrant, have -1.
  std::vector<int32_t> TokenQuadrants(const Caption& caption) const;

 private:
  struct EncodedInput {
    std::shared_ptr<const CaptionSet> typed;  // null for an example
    const CaptionSet* set;
    int64_t image;
    std::vector<std::string> prompt;
  };
  // The part of a sentence after the prompt.
  struct CaptionAfterPrompt {
    std::vector<int32_t> ids = {};
    std::vector<std::string> names = {};  // names of the ids
    std::string text = {};
  };
  absl::StatusOr<EncodedInput> Read(const PredictionRequest& request) const;
  // Returns the best hypothesis.
  Hypothesis Continue(Forward<float>& forward,
                      const EncodedInput& encoded) const;
  CaptionAfterPrompt DecodeAfterPrompt(std::vector<int32_t> ids) const;
  TraceablePrediction<float> TraceCaption(const EncodedInput& encoded,
                                          const PredictionRequest& request,
                                          CaptionAfterPrompt written) const;

  // Returns the first id of a sentence, followed by the ids of the words.
  std::vector<int32_t> PromptIdsWithBegin(
      absl::Span<const std::string> words) const;
  // Returns the hypotheses of each image after `prompt`, a result of
  // PromptIdsWithBegin().
  std::vector<std::vector<Hypothesis>> SearchCaptions(
      Forward<float>& forward, const CaptionSet& set,
      absl::Span<const int64_t> images, absl::Span<const int32_t> prompt,
      const SearchConfig& search) const;
  // Returns the ids of a sentence, the ending id included.
  std::vector<int32_t> Encode(absl::Span<const std::string> words) const;
  DecoderBatch MakeBatch(absl::Span<const std::vector<int32_t>> sentences,
                         absl::Span<const int64_t> examples,
                         Arena& arena) const;
  // Returns the readouts of teacher forcing.
  Var<float> TeacherForcedReadouts(Forward<float>& forward,
                                   const CaptionSet& set,
                                   absl::Span<const int64_t> images,
                                   const DecoderBatch& batch) const;
  // Like TeacherForcedReadouts(), but returns the alignment.
  AttentionMap<float> TeacherForcedAlignment(Forward<float>& forward,
                                             const CaptionSet& set,
                                             absl::Span<const int64_t> images,
                                             const DecoderBatch& batch,
                                             Var<float>* readout) const;
  // Returns the number of patches of an image, even for models without
  // cross-attention.
  int64_t PatchesPerImage(const CaptionSet& set) const;
  // Adds exact_match, bleu, cider_d and cut_outputs.
  void EvaluateGeneratedCaptions(Forward<float>& forward, const CaptionSet& set,
                                 EvaluatedSet* evaluated) const;
  Memory<float> EncodeImages(Forward<float>& forward, const CaptionSet& set,
                             absl::Span<const int64_t> images) const;
  void AddWordPointing(absl::Span<const float> tokens, int32_t quadrant,
                       Pointing* pointing) const;

  const CaptionerConfig config_;
  const SearchConfig search_;
  const CaptionSplits data_;
  const CaptionTokens tokens_;
  const std::vector<std::string> prompt_words_;
  const std::vector<int32_t> prompt_;  // including the first id
  ParameterStore<float> parameters_;
  Captioner<float> captioner_;
  std::vector<std::vector<int32_t>> train_;
  TargetLengths lengths_;
  int64_t epoch_ = 0;  // selects the variants of the training images
};

}  // namespace regard

#endif  // VISION_CAPTION_MODEL_H_
