#include "seq2seq/decoding/search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>

#include "autodiff/arena.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "seq2seq/decoding/continuations.h"
#include "seq2seq/decoding/incremental_decoder.h"
#include "seq2seq/decoding/sampler.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Attention that a source id counts as having received at least.
constexpr double kLeastCoverage = 1e-8;

// A hypothesis by its last id, and the row of the step that chose it.
struct Partial {
  double log_probability;
  int32_t row;
  int32_t last;
  int32_t sample;  // which of a source's samples it is
};

// A hypothesis that is complete, or cannot go on.
struct Ended {
  Partial partial;
  int64_t step;  // of its last choice; -1: there was none
  double score;
  bool finished;
};

// Complete ones first, from the best; of equal scores, the first found.
bool IsBetter(const Ended& a, const Ended& b) {
  const auto order = [](const Ended& ended) {
    return std::make_tuple(!ended.finished, -ended.score, ended.step,
                           ended.partial.row, ended.partial.last,
                           ended.partial.sample);
  };
  return order(a) < order(b);
}

// What a step leaves: its rows, followed back, give the ids of a hypothesis.
struct StepTrace {
  const float* weights;  // [rows, time]; null without
  // Of each row of the next step: the row that it continues, by which id.
  absl::Span<int32_t> rows;
  absl::Span<int32_t> ids;
};

struct SourceSearch {
  size_t index;    // among all sources
  int64_t length;  // positions of its memory
  absl::Span<Partial> beams;
  int64_t num_beams;
  absl::Span<Ended> ended;  // the best, in the order of IsBetter
  int64_t num_ended;
  // The last step that chose an id.
  int64_t last_step;
};

class BatchSearch {
 public:
  BatchSearch(const SearchInputs& inputs, const SearchConfig& config);

  std::vector<std::vector<Hypothesis>> Run();

 private:
  Var<float> Advance(absl::Span<const int32_t> ids);
  void TraceAlignment(int64_t rows);
  void Extend(const float* scores, int64_t first_row, SourceSearch* source);
  void ExtendBeams(const float* scores, int64_t first_row,
                   absl::Span<const int32_t> excluded, SourceSearch* source);
  void EndBeams(const float* scores, int64_t first_row, SourceSearch* source);
  void ExtendSamples(const float* scores, int64_t first_row,
                     absl::Span<const int32_t> excluded, SourceSearch* source);
  LogNormalizer Normalizer(const float* row) const;
  void AddHypothesis(const Partial& partial, SourceSearch* source);
  void End(const Partial& partial, int64_t step, bool finished,
           SourceSearch* source);
  bool IsLastStep(const SourceSearch& source) const;
  bool Done(const SourceSearch& source);
  bool MayImprove(const SourceSearch& source);
  double ScoreOf(const Partial& partial, int64_t step,
                 const SourceSearch& source);
  template <typename F>
  void FollowBack(const Partial& partial, int64_t step, F visit) const;
  Hypothesis HypothesisOf(const Ended& ended, const SourceSearch& source) const;
  std::vector<Hypothesis> Results(SourceSearch* source);
  void Remove(int64_t source);
  void LayOutRows();

  template <typename U>
  absl::Span<U> New(int64_t count) {
    return {scratch().New<U>(count), static_cast<size_t>(count)};
  }
  Arena& scratch() { return members_[0]->tape().scratch(); }

  const SearchInputs& inputs_;
  const SearchConfig& config_;
  const SpecialIds special_;
  const int64_t vocabulary_;
  const int64_t width_;  // hypotheses of a source that may live
  std::vector<std::unique_ptr<IncrementalDecoder>> members_;
  std::optional<BestContinuations> best_;
  std::optional<Sampler> sampler_;
  const RandomStream random_;
  absl::Span<SourceSearch> sources_;  // the first `live_` are not done yet
  int64_t live_ = 0;
  absl::Span<StepTrace> steps_;
  int64_t step_ = 0;
  int64_t time_ = 0;  // keys of the alignment
  absl::Span<float> coverage_;
};

BatchSearch::BatchSearch(const SearchInputs& inputs, const SearchConfig& config)
    : inputs_(inputs),
      config_(config),
      special_(inputs.members[0].decoder->head().special_ids()),
      vocabulary_(inputs.members[0].decoder->head().vocabulary()),
      width_(config.has_sampling() ? config.n_best() : config.beam()),
      random_(config.sampling().seed(), "sampling") {
  live_ = static_cast<int64_t>(inputs.sources.size());
  const int64_t prompt =
      std::max<int64_t>(1, static_cast<int64_t>(inputs.prompt.size()) / live_);
  int64_t longest = 0;
  for (const SearchSource& source : inputs.sources) {
    REGARD_CHECK(source.max_length > 0) << source.max_length << " ids at most";
    longest = std::max(longest, source.max_length);
  }
  for (const EnsembleMember& member : inputs.members) {
    REGARD_CHECK_EQ(member.decoder->head().vocabulary(), vocabulary_)
        << "vocabularies of an ensemble";
    // Nothing is read after the last choice.
    longest =
        std::min(longest, member.decoder->longest_position() - prompt + 1);
    members_.push_back(
        std::make_unique<IncrementalDecoder>(member, live_, live_ * width_));
  }
  REGARD_CHECK(longest > 0)
      << "a prompt of " << prompt << " ids leaves no position to choose from";
  if (config_.has_sampling()) {
    sampler_.emplace(config.sampling(), vocabulary_, scratch());
  } else {
    best_.emplace(2 * width_, vocabulary_, scratch());
  }
  steps_ = New<StepTrace>(longest);
  sources_ = New<SourceSearch>(live_);
  for (int64_t i = 0; i < live_; ++i) {
    SourceSearch& source = sources_[i];
    source = {};
    source.index = static_cast<size_t>(i);
    source.beams = New<Partial>(width_);
    source.beams[0] = {0, 0, special_.begin, 0};
    source.num_beams = 1;
    source.ended = New<Ended>(width_);
    source.last_step = -1;
  }
}

// The logits of each row; of an ensemble, the logarithms of its mean.
Var<float> BatchSearch::Advance(absl::Span<const int32_t> ids) {
  const bool want_alignment =
      inputs_.want_weights || config_.coverage_penalty() > 0;
  Var<float> sum = members_[0]->Advance(ids, want_alignment);
  if (members_.size() == 1) return sum;
  sum = LogSoftmax(sum);
  const bool probabilities =
      config_.ensemble_mean() == SearchConfig::PROBABILITIES;
  for (size_t m = 1; m < members_.size(); ++m) {
    const Var<float> next =
        LogSoftmax(members_[m]->Advance(ids, /*want_alignment=*/false));
    if (probabilities) {
      AddProbabilities(next.span(), sum.span());
    } else {
      for (int64_t i = 0; i < sum.size(); ++i) sum.data()[i] += next.data()[i];
    }
  }
  const auto count = static_cast<float>(members_.size());
  const float log_count = std::log(count);
  for (float& mean : sum.span()) {
    mean = probabilities ? mean - log_count : mean / count;
  }
  return sum;
}

void BatchSearch::TraceAlignment(int64_t rows) {
  StepTrace& trace = steps_[step_];
  trace = {};
  const Var<float> alignment = members_[0]->alignment();
  if (!alignment.has_value()) return;
  if (step_ == 0) {
    time_ = alignment.cols();
    coverage_ = New<float>(time_);
    const absl::Span<const int32_t> lengths = members_[0]->lengths();
    for (int64_t i = 0; i < live_; ++i) {
      sources_[i].length = lengths.empty() ? time_ : lengths[i];
    }
  }
  const absl::Span<float> kept = New<float>(rows * time_);
  // Of a prompt, the last position.
  const int64_t positions = alignment.rows() / rows;
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(alignment.data() + ((row + 1) * positions - 1) * time_, time_,
                kept.data() + row * time_);
  }
  trace.weights = kept.data();
}

// The hypotheses of a source are `first_row` and the rows after it.
void BatchSearch::Extend(const float* scores, int64_t first_row,
                         SourceSearch* source) {
  const int32_t excluded[] = {special_.pad, special_.begin, special_.end};
  // A beginning id that also ends is generated as the latter.
  const bool begin_ends = special_.begin == special_.end;
  absl::Span<const int32_t> passed_over(excluded);
  if (step_ >= config_.min_length()) {
    passed_over = passed_over.first(begin_ends ? 1 : 2);
  }
  const bool has_end = special_.end >= 0 && special_.end < vocabulary_;
  if (config_.has_sampling()) {
    ExtendSamples(scores, first_row, passed_over, source);
  } else if (IsLastStep(*source) && has_end && step_ >= config_.min_length()) {
    EndBeams(scores, first_row, source);
  } else {
    ExtendBeams(scores, first_row, passed_over, source);
  }
}

void BatchSearch::AddHypothesis(const Partial& partial, SourceSearch* source) {
  source->last_step = step_;
  if (partial.last == special_.end) {
    End(partial, step_, /*finished=*/true, source);
  } else {
    source->beams[source->num_beams++] = partial;
  }
}

void BatchSearch::End(const Partial& partial, int64_t step, bool finished,
                      SourceSearch* source) {
  const Ended ended = {partial, step, ScoreOf(partial, step, *source),
                       finished};
  int64_t place = source->num_ended;
  while (place > 0 && IsBetter(ended, source->ended[place - 1])) --place;
  if (place == width_) return;
  source->num_ended = std::min(source->num_ended + 1, width_);
  Ended* const at = source->ended.data() + place;
  std::copy_backward(at, source->ended.data() + source->num_ended - 1,
                     source->ended.data() + source->num_ended);
  *at = ended;
}

void BatchSearch::ExtendBeams(const float* scores, int64_t first_row,
                              absl::Span<const int32_t> excluded,
                              SourceSearch* source) {
  best_->Clear(excluded);
  for (int64_t b = 0; b < source->num_beams; ++b) {
    const double so_far = source->beams[b].log_probability;
    const float* const row = scores + (first_row + b) * vocabulary_;
    if (members_.size() == 1) {
      best_->AddLogits(static_cast<int32_t>(b), so_far, row);
    } else {
      best_->AddLogProbabilities(static_cast<int32_t>(b), so_far, row);
    }
  }
  // Where nothing is possible, the hypotheses stay as they are, unfinished.
  if (best_->best().empty()) return;
  source->num_beams = 0;
  int64_t rank = 0;
  for (const Continuation& next : best_->best()) {
    const bool among_best = rank++ < width_;
    const bool ends = next.id == special_.end;
    if (ends ? !among_best : source->num_beams == width_) continue;
    AddHypothesis({next.log_probability,
                   static_cast<int32_t>(first_row) + next.beam, next.id, 0},
                  source);
  }
}

// Ends all hypotheses, but for those that cannot end where others can.
void BatchSearch::EndBeams(const float* scores, int64_t first_row,
                           SourceSearch* source) {
  for (int64_t b = 0; b < source->num_beams; ++b) {
    const auto row = static_cast<int32_t>(first_row + b);
    const float* const logits = scores + row * vocabulary_;
    const double log_probability =
        source->beams[b].log_probability +
        static_cast<double>(Normalizer(logits)(logits[special_.end]));
    if (!std::isfinite(log_probability)) continue;
    AddHypothesis({log_probability, row, special_.end, 0}, source);
  }
  if (source->last_step == step_) source->num_beams = 0;
}

// What turns a row of Advance() into log-probabilities.
LogNormalizer BatchSearch::Normalizer(const float* row) const {
  return members_.size() == 1 ? NormalizerOf(row, vocabulary_)
                              : LogNormalizer();
}

void BatchSearch::ExtendSamples(const float* scores, int64_t first_row,
                                absl::Span<const int32_t> excluded,
                                SourceSearch* source) {
  const uint64_t key = inputs_.sources[source->index].key;
  // All samples begin with the one hypothesis of the first step.
  const int64_t count = step_ == 0 ? width_ : source->num_beams;
  source->num_beams = 0;
  for (int64_t i = 0; i < count; ++i) {
    Partial partial = step_ == 0 ? Partial{0, 0, 0, static_cast<int32_t>(i)}
                                 : source->beams[i];
    const int64_t row = first_row + (step_ == 0 ? 0 : i);
    const float* const logits = scores + row * vocabulary_;
    const uint64_t at = Hash(static_cast<uint64_t>(step_),
                             Hash(static_cast<uint64_t>(partial.sample), key));
    const int32_t id = sampler_->Draw(logits, excluded, random_.UniformAt(at));
    if (id < 0) {
      End(partial, step_ - 1, /*finished=*/false, source);
      continue;
    }
    partial.log_probability +=
        static_cast<double>(Normalizer(logits)(logits[id]));
    partial.row = static_cast<int32_t>(row);
    partial.last = id;
    AddHypothesis(partial, source);
  }
}

bool BatchSearch::IsLastStep(const SourceSearch& source) const {
  return step_ + 1 >= inputs_.sources[source.index].max_length ||
         step_ + 1 >= static_cast<int64_t>(steps_.size());
}

bool BatchSearch::Done(const SourceSearch& source) {
  return source.num_beams == 0 || source.last_step < step_ ||
         IsLastStep(source) ||
         (source.num_ended == width_ && !MayImprove(source));
}

// Whether a living hypothesis would be among the results if it were complete.
bool BatchSearch::MayImprove(const SourceSearch& source) {
  const double least = source.ended[config_.n_best() - 1].score;
  const auto lives = source.beams.first(static_cast<size_t>(source.num_beams));
  return std::any_of(lives.begin(), lives.end(), [&](const Partial& partial) {
    return ScoreOf(partial, step_, source) > least;
  });
}

// Calls visit(step, row, id) for each choice of a hypothesis, from the last.
template <typename F>
void BatchSearch::FollowBack(const Partial& partial, int64_t step,
                             F visit) const {
  int32_t row = partial.row;
  int32_t id = partial.last;
  for (; step >= 0; --step) {
    visit(step, row, id);
    if (step == 0) break;
    const StepTrace& before = steps_[step - 1];
    id = before.ids[row];
    row = before.rows[row];
  }
}

// Wu et al., "Google's neural machine translation system", 2016, section 7.
double BatchSearch::ScoreOf(const Partial& partial, int64_t step,
                            const SourceSearch& source) {
  const auto length = static_cast<double>(step + 1);
  double score = partial.log_probability /
                 std::pow((5 + length) / 6, config_.length_penalty());
  if (config_.coverage_penalty() > 0 && time_ > 0) {
    const absl::Span<float> coverage =
        coverage_.first(static_cast<size_t>(source.length));
    std::fill(coverage.begin(), coverage.end(), 0.0F);
    FollowBack(partial, step, [&](int64_t at, int32_t row, int32_t) {
      const float* const weights = steps_[at].weights + row * time_;
      for (size_t j = 0; j < coverage.size(); ++j) coverage[j] += weights[j];
    });
    double sum = 0;
    for (const float received : coverage) {
      sum += std::log(
          std::clamp(static_cast<double>(received), kLeastCoverage, 1.0));
    }
    score += config_.coverage_penalty() * sum;
  }
  return score;
}

Hypothesis BatchSearch::HypothesisOf(const Ended& ended,
                                     const SourceSearch& source) const {
  const int64_t choices = ended.step + 1;
  Hypothesis hypothesis;
  hypothesis.finished = ended.finished;
  hypothesis.log_probability = ended.partial.log_probability;
  hypothesis.score = ended.score;
  hypothesis.ids.resize(static_cast<size_t>(choices));
  const bool weights = inputs_.want_weights && time_ > 0;
  if (weights) {
    hypothesis.weights.resize(static_cast<size_t>(choices * source.length));
  }
  FollowBack(ended.partial, ended.step,
             [&](int64_t step, int32_t row, int32_t id) {
               hypothesis.ids[step] = id;
               if (!weights) return;
               std::copy_n(steps_[step].weights + row * time_, source.length,
                           hypothesis.weights.begin() + step * source.length);
             });
  if (ended.finished) hypothesis.ids.pop_back();
  return hypothesis;
}

std::vector<Hypothesis> BatchSearch::Results(SourceSearch* source) {
  for (int64_t b = 0; b < source->num_beams; ++b) {
    End(source->beams[b], source->last_step, /*finished=*/false, source);
  }
  const int64_t count = std::min(source->num_ended, int64_t{config_.n_best()});
  std::vector<Hypothesis> results;
  for (int64_t i = 0; i < count; ++i) {
    results.push_back(HypothesisOf(source->ended[i], *source));
  }
  return results;
}

// The last of the live sources takes the place of one that is done.
void BatchSearch::Remove(int64_t source) {
  --live_;
  sources_[source] = sources_[live_];
}

// Decides on the rows of the next step: as many for each source as may live,
// whatever the others need. Rows that no hypothesis needs repeat the first.
void BatchSearch::LayOutRows() {
  StepTrace& trace = steps_[step_];
  trace.rows = New<int32_t>(live_ * width_);
  trace.ids = New<int32_t>(live_ * width_);
  for (int64_t i = 0; i < live_; ++i) {
    const SourceSearch& source = sources_[i];
    for (int64_t b = 0; b < width_; ++b) {
      const Partial& partial = source.beams[b < source.num_beams ? b : 0];
      trace.rows[i * width_ + b] = partial.row;
      trace.ids[i * width_ + b] = partial.last;
    }
  }
}

std::vector<std::vector<Hypothesis>> BatchSearch::Run() {
  std::vector<std::vector<Hypothesis>> results(inputs_.sources.size());
  absl::Span<const int32_t> ids = inputs_.prompt;
  if (ids.empty()) {
    const absl::Span<int32_t> begin = New<int32_t>(live_);
    std::fill(begin.begin(), begin.end(), special_.begin);
    ids = begin;
  }
  int64_t rows = live_;
  for (; live_ > 0; ++step_) {
    const Var<float> scores = Advance(ids);
    TraceAlignment(rows);
    const int64_t rows_per_source = rows / live_;
    for (int64_t i = 0; i < live_; ++i) {
      Extend(scores.data(), i * rows_per_source, &sources_[i]);
    }
    for (int64_t i = live_; i-- > 0;) {
      SourceSearch& source = sources_[i];
      if (!Done(source)) continue;
      results[source.index] = Results(&source);
      Remove(i);
    }
    LayOutRows();
    const StepTrace& trace = steps_[step_];
    for (const auto& member : members_) member->Keep(trace.rows, width_);
    ids = trace.ids;
    rows = live_ * width_;
  }
  return results;
}

}  // namespace

std::vector<std::vector<Hypothesis>> Search(const SearchInputs& inputs,
                                            const SearchConfig& config) {
  REGARD_CHECK(!inputs.members.empty()) << "no member";
  if (inputs.sources.empty()) return {};
  return BatchSearch(inputs, config).Run();
}

}  // namespace regard
