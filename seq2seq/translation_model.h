// A sequence-to-sequence model and its sentences, as a trainer sees them.
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
#include "evaluation/answer.h"
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
  // `config` has passed ValidateEncoderDecoder(). Without vocabularies, those
  // of `data` are made from its training sentences: one for both sides if they
  // share an embedding. `search`, which has passed ValidateSearch(), is how
  // Evaluate() translates.
  TranslationModel(const EncoderDecoderConfig& config,
                   const AttentionRegistry& scorers, SentenceData data,
                   const ModelOptions& options,
                   const SearchConfig& search = {});

  // Adds what in the config does not fit the data, under paths relative to it.
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
  // On dev and test: loss, perplexity, token_accuracy, and alignment_error_rate
  // where the data has gold links and the model attends, with gold_selected if
  // the alignment has a key selection; by translating, bleu,
  // chrf, exact_match, and cut_outputs, the number that ended at the limit of
  // the search; chrf++ and ter where raw text is compared. If sentences are
  // cut, d2l_bleu_k2 and, on train, d2l_loss: the cross-entropy of a token
  // divided by cut_tokens. Dive into Deep Learning takes the mean over all
  // steps of a sentence, the padded ones included, and divides their sum by the
  // number of tokens.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Translates a sentence; examples are those of the first test set, else of
  // dev.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question) const;

  // Of the same sentences: the words of a translation, given those before.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;
  // The same of a pair in words without <eos>, which pass CheckSource() and
  // CheckTarget(). `gold` is empty where it is not known.
  Traced<float> TracePair(absl::Span<const std::string> source,
                          absl::Span<const std::string> target,
                          absl::Span<const AlignmentLink> gold) const;

  // Ids of the longest source and of the longest target in all splits and
  // epochs, <eos> included; 0 without data.
  SequenceLengths LongestSentences() const;

  // How bleu, chrf, chrf++ and ter are computed, by the prefixed name of the
  // metric, as sacreBLEU says it.
  std::map<std::string, std::string> Signatures() const;

  // Its training sentences are now the model's, which has them as ids. The
  // notes also say how many pairs cut_tokens cuts.
  const SentenceData& data() const { return data_; }
  const Translator& translator() const { return translator_; }
  bool has_attention() const { return translator_.has_attention(); }
  // Whether the attention that is the alignment has a key selection.
  bool selects_keys() const { return selects_keys_; }

 private:
  // `vocabularies`: of source and target.
  TranslationModel(const EncoderDecoderConfig& config,
                   const AttentionRegistry& scorers,
                   const std::pair<Vocabulary, Vocabulary>& vocabularies,
                   SentenceData&& data, const ModelOptions& options,
                   const SearchConfig& search);

  struct Asked {
    std::vector<std::string> source;
    const SentencePair* example = nullptr;  // null: it was typed
    std::vector<std::string> notes = {};
  };
  absl::StatusOr<Asked> Read(const Question& question) const;

  absl::Span<const int64_t> LongestFirst(absl::Span<const int64_t> examples,
                                         Arena& arena) const;
  // How well each target token is predicted from the true ones before it,
  // without dropout and label smoothing.
  TokenScores PredictTokens(Forward<float>& forward,
                            const ParallelCorpus& pairs) const;
  struct Alignments {
    AlignmentErrorRate errors;
    // With a key selection: the gold links between words that the model read,
    // and the sum over them of the share of the alignment's heads whose
    // selection has the source word.
    int64_t gold = 0;
    double selected = 0;
  };
  // Aligns the true translations: teacher forcing gives weights for each word.
  Alignments AlignmentsOf(Forward<float>& forward,
                          absl::Span<const SentencePair> pairs) const;
  // The data sets of dev or test that are not empty; none of train.
  std::vector<const EvaluationSet*> SetsOf(Split split) const;
  EvaluatedSet EvaluateSet(Forward<float>& forward,
                           const EvaluationSet& set) const;
  ParallelCorpus EncodePairs(absl::Span<const SentencePair> pairs) const;

  const EncoderDecoderConfig config_;
  const SearchConfig search_;
  const bool selects_keys_;
  SentenceData data_;
  ParallelCorpus train_;
  Translator translator_;
  std::optional<int64_t> epoch_;  // of train_
};

}  // namespace regard

#endif  // SEQ2SEQ_TRANSLATION_MODEL_H_
