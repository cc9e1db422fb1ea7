// One step of a search for one source: chooses which hypotheses continue and
// which end, and keeps the best hypotheses that ended.
#ifndef SEQ2SEQ_DECODING_CHOOSER_H_
#define SEQ2SEQ_DECODING_CHOOSER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "seq2seq/decoding/continuations.h"
#include "seq2seq/decoding/repetition.h"
#include "seq2seq/decoding/sampler.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search_trace.h"
#include "seq2seq/decoding/source_search.h"
#include "seq2seq/output_head.h"

namespace regard {

class SearchConfig;

class Chooser {
 public:
  // All arguments must outlive this object. Storage comes from `arena`.
  Chooser(const SearchInputs& inputs, const SearchConfig& config,
          const SearchTrace& trace, Arena& arena);

  // The maximum number of hypotheses of a source that continue.
  int64_t width() const { return width_; }

  // Chooses continuations from the source's scores, which it may change.
  void Extend(SourceSearchState* source);
  // Reports the choice of this step. Returns whether the source is done. Must
  // be called after Extend().
  bool ReportAndCheckDone(const SourceSearchState& source);
  // Returns the hypotheses of a source that is done.
  std::vector<Hypothesis> FinishAndCollectResults(SourceSearchState* source);

  // Returns the prompt and the ids of a hypothesis that is unfinished after the
  // last step. Valid until the next call.
  absl::Span<const int32_t> IdsWithPrompt(const SourceSearchState& source,
                                          const TracedHypothesis& partial);

 private:
  void ApplyRepetition(const SourceSearchState& source);
  void ExtendBeams(absl::Span<const int32_t> excluded,
                   SourceSearchState* source);
  void ForceEndIdOnBeams(absl::Span<const int32_t> excluded,
                         SourceSearchState* source);
  void ExtendSamples(absl::Span<const int32_t> excluded,
                     SourceSearchState* source);
  // Returns the function that turns a row of scores into log-probabilities.
  RowLogSoftmax LogProbabilityFunction(const float* row) const;
  bool IsCompleteAfterChoice(const TracedHypothesis& partial,
                             const SourceSearchState& source) const;
  void AddHypothesis(const TracedHypothesis& partial, bool completes,
                     SourceSearchState* source);
  void EndHypothesis(const TracedHypothesis& partial, int64_t length,
                     bool complete, SourceSearchState* source);

  // The number of choices of a hypothesis before this step.
  int64_t NumPreviousChoices(const SourceSearchState& source) const {
    return trace_.step() - source.first_step;
  }
  bool IsLastStep(const SourceSearchState& source) const {
    return NumPreviousChoices(source) + 1 >= source.most;
  }
  bool CanImprove(const SourceSearchState& source) const;
  // Calls on_choice() unless it is null. Returns whether the search for the
  // source continues.
  bool ReportAndCheckContinue(const SourceSearchState& source) const;
  // Returns the log-probability divided by the length penalty.
  double LengthNormalizedScore(const TracedHypothesis& partial,
                               int64_t length) const;
  // Returns LengthNormalizedScore() plus the coverage term, which is at most 0.
  double ScoreOf(const TracedHypothesis& partial, int64_t length,
                 const SourceSearchState& source);
  // Sums the attention that each position of the memory received.
  void SumCoverage(const TracedHypothesis& partial, int64_t length,
                   const SourceSearchState& source);
  Hypothesis HypothesisOf(const EndedHypothesis& ended,
                          const SourceSearchState& source) const;

  const SearchInputs& inputs_;
  const SearchConfig& config_;
  const SearchTrace& trace_;
  const SpecialIds special_;
  const int64_t vocabulary_;
  const int64_t width_;
  // Whether continuations are chosen from log-probabilities. If false, they are
  // chosen from logits.
  const bool normalized_;
  const RandomStream random_;
  std::optional<BestContinuations> best_;
  std::optional<Sampler> sampler_;
  std::optional<RepetitionProcessor> repetition_;
  std::vector<float> coverage_;  // [memory positions], result of SumCoverage()
  std::vector<int32_t> text_;    // result of IdsWithPrompt()
};

}  // namespace regard

#endif  // SEQ2SEQ_DECODING_CHOOSER_H_
