#include "seq2seq/decoding/search.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/functional/function_ref.h"
#include "autodiff/arena.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "seq2seq/decoding/chooser.h"
#include "seq2seq/decoding/incremental_ensemble_decoder.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/decoding/search_trace.h"
#include "seq2seq/decoding/source_search.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

class BatchSearch {
 public:
  BatchSearch(const SearchInputs& inputs, const SearchConfig& config);

  std::vector<std::vector<Hypothesis>> Run();

 private:
  void CheckMembers() const;
  SourceSearchState SearchOf(size_t index);
  void ReadRows();
  Var<float> ReadAgain();
  void ReadPrompts();
  void TraceAlignment(int64_t rows);
  void LayOutRows();
  bool EndedAtLimit(const SourceSearchState& source,
                    const Hypothesis& hypothesis) const;

  size_t half_window() const {
    return static_cast<size_t>(std::max<int64_t>(1, inputs_.window / 2));
  }
  template <typename U>
  absl::Span<U> New(int64_t count) {
    return {arena_.New<U>(count), static_cast<size_t>(count)};
  }

  const SearchInputs& inputs_;
  const SpecialIds special_;
  const int64_t vocabulary_;
  IncrementalEnsembleDecoder reader_;
  const ScratchScope<float> scratch_;
  // With a memory, the reader begins only once, so arrays can be in its scratch
  // arena. After warm-up, a search then allocates nothing.
  Arena own_arena_;
  Arena& arena_;
  SearchTrace trace_;
  Chooser chooser_;
  const int64_t width_;  // rows per source
  // Sources with an index of at least `started_` are waiting. They are ordered
  // by the length of their prompts.
  std::vector<SourceSearchState> waiting_;
  size_t started_ = 0;
  std::vector<SourceSearchState> live_;
};

BatchSearch::BatchSearch(const SearchInputs& inputs, const SearchConfig& config)
    : inputs_(inputs),
      special_(inputs.members[0].decoder->head().special_ids()),
      vocabulary_(inputs.members[0].decoder->head().vocabulary()),
      reader_(inputs.members, config.ensemble_mean(),
              inputs.want_weights || config.coverage_penalty() > 0),
      scratch_(inputs.members[0].forward->tape()),
      arena_(inputs.members[0].encode != nullptr
                 ? inputs.members[0].forward->tape().scratch()
                 : own_arena_),
      chooser_(inputs, config, trace_, arena_),
      width_(chooser_.width()) {
  waiting_.reserve(inputs.sources.size());
  live_.reserve(inputs.sources.size());
  int64_t longest = 0;
  for (size_t i = 0; i < inputs.sources.size(); ++i) {
    waiting_.push_back(SearchOf(i));
    longest = std::max(longest, waiting_.back().most);
  }
  std::sort(waiting_.begin(), waiting_.end(),
            [](const SourceSearchState& a, const SourceSearchState& b) {
              return std::make_pair(a.read.size(), a.index) <
                     std::make_pair(b.read.size(), b.index);
            });
  CheckMembers();
  if (inputs.members[0].encode != nullptr) trace_.Reserve(longest);
}

void BatchSearch::CheckMembers() const {
  const bool at_once =
      waiting_.front().read.size() == waiting_.back().read.size() &&
      inputs_.window == 0;
  for (const EnsembleMember& member : inputs_.members) {
    REGARD_CHECK_EQ(member.decoder->head().vocabulary(), vocabulary_)
        << "vocabularies of an ensemble";
    REGARD_CHECK(at_once || member.encode == nullptr)
        << "a memory, and a window or prompts of several lengths";
    REGARD_CHECK(inputs_.window <= member.decoder->longest_position())
        << "a window of " << inputs_.window << " ids";
  }
}

SourceSearchState BatchSearch::SearchOf(size_t index) {
  const SourceSearchInputs& given = inputs_.sources[index];
  REGARD_CHECK(given.max_length > 0) << given.max_length << " ids at most";
  SourceSearchState source;
  source.index = index;
  source.key = given.key;
  source.prompt = given.prompt.empty() ? absl::MakeConstSpan(&special_.begin, 1)
                                       : given.prompt;
  source.read = source.prompt;
  source.most = given.max_length;
  if (inputs_.window == 0) {
    const auto read = static_cast<int64_t>(source.read.size());
    for (const EnsembleMember& member : inputs_.members) {
      // The id of the last choice is not read, so it needs no position.
      source.most =
          std::min(source.most, member.decoder->longest_position() - read + 1);
    }
    REGARD_CHECK(source.most > 0)
        << "a prompt of " << read << " ids leaves no position to choose from";
  } else if (std::ssize(source.read) > inputs_.window) {
    source.read = source.read.last(half_window());
  }
  source.beams = New<TracedHypothesis>(width_);
  source.beams[0] = {0, 0, special_.begin, 0};
  source.ended = BestEndedHypotheses(New<EndedHypothesis>(width_));
  return source;
}

// Reads the last id of each hypothesis.
void BatchSearch::ReadRows() {
  if (live_.empty()) return;
  const Var<float> scores =
      reader_.position() == inputs_.window
          ? ReadAgain()
          : reader_.Advance(trace_[trace_.step() - 1].ids);
  for (size_t i = 0; i < live_.size(); ++i) {
    live_[i].first_row = static_cast<int64_t>(i) * width_;
    live_[i].scores = scores.data() + live_[i].first_row * vocabulary_;
  }
  TraceAlignment(std::ssize(live_) * width_);
}

// Reads the last half window of each hypothesis again.
Var<float> BatchSearch::ReadAgain() {
  const int64_t rows = std::ssize(live_) * width_;
  const auto half = static_cast<int64_t>(half_window());
  const absl::Span<int32_t> ids = New<int32_t>(rows * half);
  for (int64_t row = 0; row < rows; ++row) {
    const SourceSearchState& source = live_[static_cast<size_t>(row / width_)];
    const int64_t b = row % width_ < source.num_beams ? row % width_ : 0;
    const auto text = chooser_.IdsWithPrompt(source, source.beams[b]);
    std::copy(text.end() - half, text.end(), ids.begin() + row * half);
  }
  return reader_.Begin(ids, rows, rows);
}

// Reads the prompts whose length equals the number of ids that the other
// sources have read. If there are no other sources, reads the shortest prompts.
void BatchSearch::ReadPrompts() {
  if (started_ == waiting_.size()) return;
  const size_t count = waiting_[started_].read.size();
  const int64_t others = std::ssize(live_);
  if (others > 0 && reader_.position() != static_cast<int64_t>(count)) return;
  const size_t most = waiting_.size() - started_;
  std::vector<int32_t> ids;
  ids.reserve(most * count);
  while (started_ < waiting_.size() &&
         waiting_[started_].read.size() == count) {
    live_.push_back(waiting_[started_++]);
    ids.insert(ids.end(), live_.back().read.begin(), live_.back().read.end());
  }
  const int64_t sources = std::ssize(live_) - others;
  const Var<float> scores =
      others > 0
          ? reader_.AddSources(ids, sources)
          : reader_.Begin(ids, sources, static_cast<int64_t>(most) * width_);
  for (int64_t i = 0; i < sources; ++i) {
    SourceSearchState& source = live_[static_cast<size_t>(others + i)];
    source.first_step = trace_.step();
    source.first_row = others * width_ + i;
    source.scores = scores.data() + i * vocabulary_;
  }
  if (others == 0) TraceAlignment(sources);
}

void BatchSearch::TraceAlignment(int64_t rows) {
  const Var<float> alignment = reader_.alignment();
  if (!alignment.has_value()) return;
  if (trace_.step() == 0) {
    trace_.set_time(alignment.cols());
    const absl::Span<const int32_t> lengths = reader_.lengths();
    for (size_t i = 0; i < live_.size(); ++i) {
      live_[i].memory_size = lengths.empty() ? trace_.time() : lengths[i];
    }
  }
  const int64_t time = trace_.time();
  const absl::Span<float> kept = New<float>(rows * time);
  // Only the last position of a prompt chooses an id.
  const int64_t positions = alignment.rows() / rows;
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(alignment.data() + ((row + 1) * positions - 1) * time, time,
                kept.data() + row * time);
  }
  trace_.last().weights = kept.data();
}

// Gives each hypothesis the row that it continues, if possible, because the
// cache does not copy such rows. Each swap moves one hypothesis to its row.
void KeepInPlace(SourceSearchState* source) {
  const absl::Span<TracedHypothesis> beams = source->beams;
  const auto place = [&](int64_t b) {
    return beams[b].row - source->first_row;
  };
  for (int64_t b = 0; b < source->num_beams; ++b) {
    for (int64_t wanted = place(b);
         wanted < source->num_beams && place(wanted) != wanted;
         wanted = place(b)) {
      std::swap(beams[b], beams[wanted]);
    }
  }
}

// Assigns the rows of the next step. Each source has `width_` rows, even if it
// has fewer hypotheses. Unused rows repeat the first hypothesis.
void BatchSearch::LayOutRows() {
  StepTrace& trace = trace_.last();
  trace.rows = New<int32_t>(std::ssize(live_) * width_);
  trace.ids = New<int32_t>(std::ssize(live_) * width_);
  for (size_t i = 0; i < live_.size(); ++i) {
    SourceSearchState& source = live_[i];
    KeepInPlace(&source);
    for (int64_t b = 0; b < width_; ++b) {
      const TracedHypothesis& partial =
          source.beams[b < source.num_beams ? b : 0];
      trace.rows[i * width_ + b] = partial.row;
      trace.ids[i * width_ + b] = partial.last;
    }
  }
}

bool BatchSearch::EndedAtLimit(const SourceSearchState& source,
                               const Hypothesis& hypothesis) const {
  // The chooser has recorded whether another id was likelier.
  if (hypothesis.finished) return hypothesis.at_limit;
  if (hypothesis.num_choices() < source.most) return false;
  return inputs_.completes == nullptr ||
         !inputs_.completes(
             source.index, [&](absl::FunctionRef<bool(int32_t)> visit) {
               auto id = hypothesis.ids.rbegin();
               while (id != hypothesis.ids.rend() && visit(*id)) {
                 ++id;
               }
             });
}

std::vector<std::vector<Hypothesis>> BatchSearch::Run() {
  std::vector<std::vector<Hypothesis>> results(inputs_.sources.size());
  while (!live_.empty() || started_ < waiting_.size()) {
    trace_.BeginStep();
    ReadRows();
    ReadPrompts();
    for (SourceSearchState& source : live_) chooser_.Extend(&source);
    for (size_t i = live_.size(); i-- > 0;) {
      SourceSearchState& source = live_[i];
      if (!chooser_.ReportAndCheckDone(source)) continue;
      results[source.index] = chooser_.FinishAndCollectResults(&source);
      for (Hypothesis& hypothesis : results[source.index]) {
        hypothesis.at_limit = EndedAtLimit(source, hypothesis);
      }
      // The last source replaces the source that is done.
      source = live_.back();
      live_.pop_back();
    }
    LayOutRows();
    reader_.EndStepWithRows(trace_.last().rows, width_);
  }
  return results;
}

}  // namespace

uint64_t KeyOf(absl::Span<const int32_t> ids) {
  uint64_t key = kHashSeed;
  for (const int32_t id : ids) key = Hash(static_cast<uint64_t>(id), key);
  return key;
}

std::vector<std::vector<Hypothesis>> Search(const SearchInputs& inputs,
                                            const SearchConfig& config) {
  REGARD_CHECK(!inputs.members.empty()) << "no member";
  if (inputs.sources.empty()) return {};
  return BatchSearch(inputs, config).Run();
}

}  // namespace regard
