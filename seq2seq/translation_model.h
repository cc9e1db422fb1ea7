// A sequence-to-sequence model and its sentences, as a trainer sees them.
#ifndef SEQ2SEQ_TRANSLATION_MODEL_H_
#define SEQ2SEQ_TRANSLATION_MODEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/scorer_registry.h"
#include "autodiff/arena.h"
#include "data/pairs/subword_sampler.h"
#include "data/parallel_corpus.h"
#include "data/sentence_pair.h"
#include "data/text/vocabulary.h"
#include "nn/evaluated_set.h"
#include "nn/model.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/output_head.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/translator.h"

namespace regard {

// Sentences to train on, and to evaluate on by the name of the metric's split.
struct TranslationData {
  ParallelCorpus train = {};  // encoded by the model's vocabularies
  // Where each epoch segments the text of `train` anew; else null.
  std::shared_ptr<const SubwordSampler> sampler = nullptr;
  EvaluationSet dev = {};
  std::vector<EvaluationSet> tests = {};
};

struct TranslationOptions {
  LossOptions loss;
  // Longer sides are cut to this many ids; 0: never. If set, the cross-entropy
  // of a token of the training pairs is also reported divided by it, as
  // "d2l_loss": Dive into Deep Learning takes the mean over all steps of a
  // sentence, the padded ones included, and divides their sum by the number of
  // tokens.
  int64_t cut_tokens = 0;
  uint64_t seed = 0;
  // How EvaluateExamples() translates. Has passed ValidateSearch().
  SearchConfig search;
  Tokenizers tokenizers = {};
};

class TranslationModel : public Model<float> {
 public:
  // `config` has passed ValidateEncoderDecoder().
  TranslationModel(const EncoderDecoderConfig& config,
                   const ScorerRegistry& scorers, Vocabulary source,
                   Vocabulary target, TranslationData data,
                   const TranslationOptions& options);

  ParameterStore<float>& parameters() override {
    return translator_.parameters();
  }
  int64_t num_examples() const override { return data_.train.size(); }
  int64_t CountWork(absl::Span<const int64_t> examples) const override;
  void BeginEpoch(std::optional<int64_t> epoch) override;
  SequenceLengths Lengths(int64_t example) const override {
    const PairView pair = data_.train[example];
    return {static_cast<int64_t>(pair.source.size()),
            static_cast<int64_t>(pair.target.size())};
  }
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // On dev and test: loss, perplexity, token_accuracy, and alignment_error_rate
  // where the data has gold links and the model attends. On train: d2l_loss
  // where cut_tokens is set.
  void Evaluate(Forward<float>& forward, Split split,
                std::vector<Measurement>* measurements) const override;
  // Translates dev or test: bleu, chrf, exact_match; chrf++ and ter where raw
  // text is compared; d2l_bleu_k2 where cut_tokens is set.
  void EvaluateExamples(Forward<float>& forward, Split split,
                        std::vector<EvaluatedSet>* sets) const override;

  // Ids of the longest source and of the longest target in all splits and
  // epochs, <eos> included; 0 without data.
  SequenceLengths LongestSentences() const;

  // How bleu, chrf, chrf++ and ter are computed, by the prefixed name of the
  // metric, as sacreBLEU says it.
  std::map<std::string, std::string> Signatures() const;

  const TranslationData& data() const { return data_; }
  const Translator& translator() const { return translator_; }
  bool has_attention() const { return translator_.has_attention(); }

 private:
  absl::Span<const int64_t> LongestFirst(absl::Span<const int64_t> examples,
                                         Arena& arena) const;
  // How well each target token is predicted from the true ones before it,
  // without dropout and label smoothing.
  TokenScores PredictTokens(Forward<float>& forward,
                            const ParallelCorpus& pairs) const;
  // Aligns the true translations: teacher forcing gives weights for each word.
  AlignmentErrorRate AlignmentOf(Forward<float>& forward,
                                 absl::Span<const SentencePair> pairs) const;
  // The data sets of dev or test that are not empty; none of train.
  std::vector<const EvaluationSet*> SetsOf(Split split) const;
  void MeasureSet(Forward<float>& forward, const EvaluationSet& set,
                  std::vector<Measurement>* measurements) const;
  EvaluatedSet TranslateSet(Forward<float>& forward,
                            const EvaluationSet& set) const;
  ParallelCorpus EncodePairs(absl::Span<const SentencePair> pairs) const;

  const TranslationOptions options_;
  Translator translator_;
  TranslationData data_;
  std::optional<int64_t> epoch_;  // of data_.train
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSLATION_MODEL_H_
