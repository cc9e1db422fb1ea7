// A sequence-to-sequence model with its sentences, for training and evaluation.
#ifndef SEQ2SEQ_TRANSLATION_MODEL_H_
#define SEQ2SEQ_TRANSLATION_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "autodiff/arena.h"
#include "data/pairs/sentence_source.h"
#include "data/parallel_corpus.h"
#include "data/sentence_pair.h"
#include "data/text/vocabulary.h"
#include "evaluation/prediction.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "options/config_problems.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/output_head.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/translator.h"

namespace regard {

class TranslationModel : public Model<float> {
 public:
  // `config` must have passed ValidateEncoderDecoder(), and `search`
  // ValidateSearch(). Evaluate() translates with `search`. If `data` has no
  // vocabularies, they are made from its training sentences: one for both sides
  // if the sides share an embedding.
  TranslationModel(const EncoderDecoderConfig& config,
                   const AttentionRegistry& scorers, SentenceData data,
                   const ModelOptions& options,
                   const SearchConfig& search = {});

  // Adds problems where the config does not fit the data, under paths relative
  // to the config.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override {
    return translator_.parameters();
  }
  int64_t num_examples() const override { return train_.size(); }
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  const char* work_unit() const override { return "tok"; }
  void BeginEpoch(std::optional<int64_t> epoch) override;
  SequenceLengths Lengths(int64_t example) const override {
    const PairView pair = train_[example];
    return {static_cast<int64_t>(pair.source.size()),
            static_cast<int64_t>(pair.target.size())};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes the metrics of a split. On dev and test:
  // * loss, perplexity and token_accuracy.
  // * bleu, chrf and exact_match.
  // * cut_outputs: the number of translations truncated at the limit of the
  //   search.
  // * chrf++ and ter if raw text is compared.
  // * alignment_error_rate if the data has gold alignments and the model has
  //   attention.
  // * gold_selected if the alignment also has a key selection.
  // * d2l_bleu_k2 if cut_tokens is set.
  //
  // On train, computes d2l_loss if cut_tokens is set: the cross-entropy per
  // token divided by cut_tokens. Dive into Deep Learning computes the same
  // number. It averages the loss over the cut_tokens positions of a sentence,
  // padding included, and divides the sum of these means by the number of
  // tokens.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Translates a sentence. Examples are sentences of the first test set, or of
  // dev if there is no test set.
  absl::StatusOr<Prediction> Predict(Forward<float>& forward,
                                     const PredictionRequest& request) const;

  // Traces how each word of a translation is predicted from the words before
  // it. Examples are the same as for Predict().
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;
  // Traces a pair of sentences, given as words without <eos>. The sentences
  // must pass CheckSourceLength() and CheckTargetLength(). `gold` is empty if
  // the gold alignment is not known.
  TraceablePrediction<float> TracePair(
      absl::Span<const std::string> source,
      absl::Span<const std::string> target,
      absl::Span<const AlignmentLink> gold) const;

  // The number of ids of the longest source and of the longest target in all
  // splits and epochs, <eos> included. An upper bound if subwords are sampled.
  // 0 without data.
  SequenceLengths LongestSentenceLengths() const;

  // Returns the signatures of bleu, chrf, chrf++ and ter in sacreBLEU's format.
  // The keys are the names of the metrics with their prefixes.
  std::map<std::string, std::string> Signatures() const;

  // The data without its training sentences, which the model keeps as ids. The
  // notes include the number of pairs that are truncated to cut_tokens.
  const SentenceData& data() const { return data_; }
  const Translator& translator() const { return translator_; }
  bool has_attention() const { return translator_.has_attention(); }
  // Whether the attention that serves as the alignment has a key selection.
  bool selects_keys() const { return selects_keys_; }

 private:
  // `vocabularies` are the vocabularies of the source and of the target.
  TranslationModel(const EncoderDecoderConfig& config,
                   const AttentionRegistry& scorers,
                   const std::pair<Vocabulary, Vocabulary>& vocabularies,
                   SentenceData&& data, const ModelOptions& options,
                   const SearchConfig& search);

  struct EncodedInput {
    std::vector<std::string> source;
    const SentencePair* example = nullptr;  // null if the sentence was typed
    std::vector<std::string> notes = {};
  };
  absl::StatusOr<EncodedInput> Read(const PredictionRequest& request) const;

  absl::Span<const int64_t> LongestTargetFirst(
      absl::Span<const int64_t> examples, Arena& arena) const;
  // Scores the prediction of each target token from the true tokens before it,
  // without dropout and label smoothing.
  TokenScoreSums ScoreTargetTokens(Forward<float>& forward,
                                   const ParallelCorpus& pairs) const;
  struct AlignmentScores {
    AlignmentErrorRate errors;
    // The number of gold alignments between words that the model read. 0
    // without a key selection.
    int64_t gold = 0;
    // The sum of the scores of these gold alignments. A score is the fraction
    // of the alignment's heads whose key selection contains the source word. 0
    // without a key selection.
    double selected = 0;
  };
  // Aligns the reference translations by the attention weights of each word in
  // teacher forcing.
  AlignmentScores ScoreAlignments(Forward<float>& forward,
                                  absl::Span<const SentencePair> pairs) const;
  // Returns the non-empty data sets of dev or test. Empty for train.
  std::vector<const EvaluationSet*> EvaluationSetsOf(Split split) const;
  EvaluatedSet EvaluateSet(Forward<float>& forward,
                           const EvaluationSet& set) const;
  ParallelCorpus EncodePairs(absl::Span<const SentencePair> pairs) const;

  const EncoderDecoderConfig config_;
  const SearchConfig search_;
  const bool selects_keys_;
  SentenceData data_;
  ParallelCorpus train_;
  Translator translator_;
  std::optional<int64_t> epoch_;  // the epoch of train_
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSLATION_MODEL_H_
