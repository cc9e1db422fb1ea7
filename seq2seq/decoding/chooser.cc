#include "seq2seq/decoding/chooser.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "absl/functional/function_ref.h"
#include "seq2seq/decoding/search.pb.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// The minimum attention to a source id in the coverage term. Less attention
// counts as this value.
constexpr double kMinCoverage = 1e-8;

// Returns whether no other id, except excluded ones, has a greater score than
// `id`.
bool IsLikeliest(int32_t id, absl::Span<const float> scores,
                 absl::Span<const int32_t> excluded) {
  for (int32_t other = 0; other < std::ssize(scores); ++other) {
    if (scores[other] > scores[id] &&
        std::find(excluded.begin(), excluded.end(), other) == excluded.end()) {
      return false;
    }
  }
  return true;
}

}  // namespace

Chooser::Chooser(const SearchInputs& inputs, const SearchConfig& config,
                 const SearchTrace& trace, Arena& arena)
    : inputs_(inputs),
      config_(config),
      trace_(trace),
      special_(inputs.members[0].decoder->head().special_ids()),
      vocabulary_(inputs.members[0].decoder->head().vocabulary()),
      width_(config.has_sampling() ? config.n_best() : config.beam()),
      normalized_(inputs.members.size() > 1 ||
                  (RepetitionProcessor::IsOn(config) && config.beam() > 1)),
      random_(config.sampling().seed(), "sampling") {
  REGARD_CHECK(inputs.on_choice == nullptr || width_ == 1)
      << width_ << " hypotheses of a source, of which each choice is wanted";
  if (config_.has_sampling()) {
    sampler_.emplace(config.sampling(), vocabulary_, arena);
  } else {
    best_.emplace(2 * width_, vocabulary_, arena);
  }
  if (RepetitionProcessor::IsOn(config)) {
    repetition_.emplace(config, vocabulary_, arena);
  }
}

absl::Span<const int32_t> Chooser::IdsWithPrompt(
    const SourceSearchState& source, const TracedHypothesis& partial) {
  const int64_t choices = NumPreviousChoices(source);
  text_.assign(source.prompt.begin(), source.prompt.end());
  text_.resize(source.prompt.size() + static_cast<size_t>(choices));
  auto place = text_.rbegin();
  if (choices == 0) return text_;
  trace_.TraceBack(partial, trace_.step() - 1, source.first_step,
                   [&](int64_t, int32_t, int32_t id) {
                     *place++ = id;
                     return true;
                   });
  return text_;
}

void Chooser::ApplyRepetition(const SourceSearchState& source) {
  for (int64_t b = 0; b < source.num_beams; ++b) {
    const absl::Span<float> row(source.scores + b * vocabulary_,
                                static_cast<size_t>(vocabulary_));
    if (normalized_ && inputs_.members.size() == 1) {
      const RowLogSoftmax normalizer =
          MakeRowLogSoftmax(row.data(), vocabulary_);
      std::transform(row.begin(), row.end(), row.begin(), normalizer);
    }
    repetition_->Apply(IdsWithPrompt(source, source.beams[b]), row);
  }
}

void Chooser::Extend(SourceSearchState* source) {
  const int32_t excluded[] = {special_.pad, special_.begin, special_.end};
  // If the beginning id is also the ending id, it may be generated as the
  // ending id.
  const bool begin_ends = special_.begin == special_.end;
  const bool may_end = NumPreviousChoices(*source) >= config_.min_length();
  absl::Span<const int32_t> passed_over(excluded);
  if (may_end) passed_over = passed_over.first(begin_ends ? 1 : 2);
  if (repetition_) ApplyRepetition(*source);
  const bool has_end = special_.end >= 0 && special_.end < vocabulary_;
  if (config_.has_sampling()) {
    ExtendSamples(passed_over, source);
  } else if (IsLastStep(*source) && has_end && may_end && !inputs_.cut) {
    ForceEndIdOnBeams(passed_over, source);
  } else {
    ExtendBeams(passed_over, source);
  }
}

// Returns whether this choice completes its hypothesis.
bool Chooser::IsCompleteAfterChoice(const TracedHypothesis& partial,
                                    const SourceSearchState& source) const {
  if (partial.last == special_.end) return true;
  if (inputs_.cut && IsLastStep(source)) return true;
  if (inputs_.completes == nullptr) return false;
  return inputs_.completes(
      source.index, [&](absl::FunctionRef<bool(int32_t)> visit) {
        trace_.TraceBack(
            partial, trace_.step(), source.first_step,
            [&](int64_t, int32_t, int32_t id) { return visit(id); });
      });
}

void Chooser::AddHypothesis(const TracedHypothesis& partial, bool completes,
                            SourceSearchState* source) {
  source->last_step = trace_.step();
  if (completes) {
    EndHypothesis(partial, NumPreviousChoices(*source) + 1, /*complete=*/true,
                  source);
  } else {
    source->beams[source->num_beams++] = partial;
  }
}

void Chooser::EndHypothesis(const TracedHypothesis& partial, int64_t length,
                            bool complete, SourceSearchState* source) {
  source->ended.Add({.partial = partial,
                     .length = length,
                     .score = ScoreOf(partial, length, *source),
                     .complete = complete,
                     .finished = length > 0 && partial.last == special_.end});
}

void Chooser::ExtendBeams(absl::Span<const int32_t> excluded,
                          SourceSearchState* source) {
  best_->Clear(excluded);
  for (int64_t b = 0; b < source->num_beams; ++b) {
    const double so_far = source->beams[b].log_probability;
    const float* const row = source->scores + b * vocabulary_;
    if (normalized_) {
      best_->AddLogProbabilities(static_cast<int32_t>(b), so_far, row);
    } else {
      best_->AddLogits(static_cast<int32_t>(b), so_far, row);
    }
  }
  // If no continuation is possible, the hypotheses do not change and stay
  // unfinished.
  if (best_->best().empty()) return;
  source->num_beams = 0;
  int64_t rank = 0;
  for (const Continuation& next : best_->best()) {
    const bool among_best = rank++ < width_;
    if (!among_best && source->num_beams == width_) break;
    const TracedHypothesis partial = {
        next.log_probability,
        static_cast<int32_t>(source->first_row) + next.beam, next.id, 0};
    const bool completes = IsCompleteAfterChoice(partial, *source);
    if (completes && !among_best) continue;
    AddHypothesis(partial, completes, source);
  }
}

// Ends all hypotheses with the ending id. Drops the hypotheses for which this
// id is impossible, unless it is impossible for all of them.
void Chooser::ForceEndIdOnBeams(absl::Span<const int32_t> excluded,
                                SourceSearchState* source) {
  for (int64_t b = 0; b < source->num_beams; ++b) {
    const float* const logits = source->scores + b * vocabulary_;
    const double log_probability = source->beams[b].log_probability +
                                   static_cast<double>(LogProbabilityFunction(
                                       logits)(logits[special_.end]));
    if (!std::isfinite(log_probability)) continue;
    const absl::Span<const float> row(logits, static_cast<size_t>(vocabulary_));
    AddHypothesis({log_probability, static_cast<int32_t>(source->first_row + b),
                   special_.end, 0,
                   /*cut=*/!IsLikeliest(special_.end, row, excluded)},
                  /*completes=*/true, source);
  }
  if (source->last_step == trace_.step()) source->num_beams = 0;
}

RowLogSoftmax Chooser::LogProbabilityFunction(const float* row) const {
  return normalized_ ? RowLogSoftmax() : MakeRowLogSoftmax(row, vocabulary_);
}

void Chooser::ExtendSamples(absl::Span<const int32_t> excluded,
                            SourceSearchState* source) {
  const int64_t choices = NumPreviousChoices(*source);
  // At the first step, all samples start from the same hypothesis.
  const int64_t count = choices == 0 ? width_ : source->num_beams;
  source->num_beams = 0;
  for (int64_t i = 0; i < count; ++i) {
    TracedHypothesis partial =
        choices == 0 ? TracedHypothesis{0, 0, 0, static_cast<int32_t>(i)}
                     : source->beams[i];
    const int64_t row = choices == 0 ? 0 : i;
    const float* const logits = source->scores + row * vocabulary_;
    const auto sample = static_cast<uint64_t>(partial.sample);
    const uint64_t at =
        Hash(static_cast<uint64_t>(choices),
             sample == 0 ? source->key : Hash(sample, source->key));
    const int32_t id = sampler_->Draw(logits, excluded, random_.UniformAt(at));
    if (id < 0) {
      EndHypothesis(partial, choices, /*complete=*/false, source);
      continue;
    }
    partial.log_probability +=
        static_cast<double>(LogProbabilityFunction(logits)(logits[id]));
    partial.row = static_cast<int32_t>(source->first_row + row);
    partial.last = id;
    AddHypothesis(partial, IsCompleteAfterChoice(partial, *source), source);
  }
}

bool Chooser::ReportAndCheckDone(const SourceSearchState& source) {
  return !ReportAndCheckContinue(source) || source.num_beams == 0 ||
         source.last_step < trace_.step() || IsLastStep(source) ||
         (source.ended.full() && !CanImprove(source));
}

// Returns whether a hypothesis that continues could enter the results if it
// were complete with full coverage.
bool Chooser::CanImprove(const SourceSearchState& source) const {
  const double least = source.ended.best()[config_.n_best() - 1].score;
  const auto lives = source.beams.first(static_cast<size_t>(source.num_beams));
  return std::any_of(
      lives.begin(), lives.end(), [&](const TracedHypothesis& partial) {
        return LengthNormalizedScore(partial, NumPreviousChoices(source) + 1) >
               least;
      });
}

// Calls on_choice() unless it is null. Returns whether the search for the
// source continues.
bool Chooser::ReportAndCheckContinue(const SourceSearchState& source) const {
  if (inputs_.on_choice == nullptr || source.last_step < trace_.step()) {
    return true;
  }
  const TracedHypothesis& only = source.ended.best().empty()
                                     ? source.beams[0]
                                     : source.ended.best()[0].partial;
  return only.last == special_.end ||
         inputs_.on_choice(source.index, only.last);
}

// The length penalty of Wu et al., "Google's neural machine translation
// system", 2016, section 7.
double Chooser::LengthNormalizedScore(const TracedHypothesis& partial,
                                      int64_t length) const {
  return partial.log_probability /
         std::pow((5 + static_cast<double>(length)) / 6,
                  config_.length_penalty());
}

double Chooser::ScoreOf(const TracedHypothesis& partial, int64_t length,
                        const SourceSearchState& source) {
  const double score = LengthNormalizedScore(partial, length);
  if (config_.coverage_penalty() == 0 || trace_.time() == 0) return score;
  SumCoverage(partial, length, source);
  double sum = 0;
  for (const float received : coverage_) {
    sum +=
        std::log(std::clamp(static_cast<double>(received), kMinCoverage, 1.0));
  }
  return score + config_.coverage_penalty() * sum;
}

void Chooser::SumCoverage(const TracedHypothesis& partial, int64_t length,
                          const SourceSearchState& source) {
  coverage_.assign(static_cast<size_t>(source.memory_size), 0.0F);
  trace_.TraceBack(partial, source.first_step + length - 1, source.first_step,
                   [&](int64_t at, int32_t row, int32_t) {
                     const float* const weights =
                         trace_[at].weights + row * trace_.time();
                     for (size_t j = 0; j < coverage_.size(); ++j) {
                       coverage_[j] += weights[j];
                     }
                     return true;
                   });
}

Hypothesis Chooser::HypothesisOf(const EndedHypothesis& ended,
                                 const SourceSearchState& source) const {
  Hypothesis hypothesis;
  hypothesis.finished = ended.finished;
  hypothesis.at_limit = ended.partial.cut;
  hypothesis.log_probability = ended.partial.log_probability;
  hypothesis.score = ended.score;
  hypothesis.ids.resize(static_cast<size_t>(ended.length));
  const bool weights = inputs_.want_weights && trace_.time() > 0;
  if (weights) {
    hypothesis.weights.resize(
        static_cast<size_t>(ended.length * source.memory_size));
  }
  const int64_t first = source.first_step;
  trace_.TraceBack(ended.partial, first + ended.length - 1, first,
                   [&](int64_t step, int32_t row, int32_t id) {
                     hypothesis.ids[step - first] = id;
                     if (weights) {
                       std::copy_n(trace_[step].weights + row * trace_.time(),
                                   source.memory_size,
                                   hypothesis.weights.begin() +
                                       (step - first) * source.memory_size);
                     }
                     return true;
                   });
  if (ended.finished) hypothesis.ids.pop_back();
  return hypothesis;
}

std::vector<Hypothesis> Chooser::FinishAndCollectResults(
    SourceSearchState* source) {
  const int64_t length =
      source->last_step < 0 ? 0 : source->last_step - source->first_step + 1;
  for (int64_t b = 0; b < source->num_beams; ++b) {
    EndHypothesis(source->beams[b], length, /*complete=*/inputs_.cut, source);
  }
  std::vector<Hypothesis> results;
  for (const EndedHypothesis& ended : source->ended.best()) {
    if (std::ssize(results) == config_.n_best()) break;
    results.push_back(HypothesisOf(ended, *source));
  }
  return results;
}

}  // namespace regard
