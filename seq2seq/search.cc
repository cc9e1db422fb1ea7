#include "seq2seq/search.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "autodiff/arena.h"
#include "autodiff/tape.h"
#include "seq2seq/continuations.h"
#include "seq2seq/kept_state.h"
#include "seq2seq/known_words.h"
#include "seq2seq/vocabulary.h"

namespace regard {

namespace {

// Sources that are searched together: enough for products to be fast, and few
// enough for the logits of all rows and the weights of all steps.
constexpr size_t kMostSources = 64;
constexpr size_t kMostRows = 512;
constexpr size_t kMostWeights = 16384;  // of a step: rows times ids

// Words a translation of `source` may have. Attention that knows no larger
// distances ends it.
int64_t LongestTranslation(const Seq2SeqModel<float>& model,
                           const std::vector<int32_t>& source,
                           const SearchOptions& options) {
  const int64_t longest =
      options.length_factor * static_cast<int64_t>(source.size()) +
      options.extra_length;
  return std::min(longest - 1, model.LongestDistance()) + 1;
}

// A hypothesis by its last word, and the row of the step that chose it.
struct Hypothesis {
  double log_probability;
  int32_t row;
  int32_t last;
};

// What a step leaves behind: following rows back from step to step gives the
// words of a hypothesis, and what was looked at for each.
struct StepTrace {
  const float* weights;  // [rows, time]; null without attention
  // Of each row of the next step: the row that it continues, by which word.
  absl::Span<int32_t> rows;
  absl::Span<int32_t> words;
};

// The search for one source.
struct Sentence {
  size_t index;     // among all sources
  int64_t length;   // ids of the source
  int64_t longest;  // words a translation may have
  absl::Span<Hypothesis> beams;
  int64_t num_beams;
  // Of the hypotheses that ended: how many, and the best one.
  int num_ended;
  double best_score;
  Hypothesis best;
  int64_t best_step;
};

// Searches some sources together. Whatever outlives a step is in the tape's
// scratch arena, so that the tape itself can be rewound.
class BatchSearch {
 public:
  BatchSearch(const Seq2SeqModel<float>& model, Forward<float>& forward,
              const SearchOptions& options)
      : model_(model), forward_(forward), options_(options) {}

  // Translates those sources that `order` names.
  void Run(absl::Span<const std::vector<int32_t>> sources,
           absl::Span<const size_t> order,
           std::vector<Translation>* translations);

 private:
  void Encode(absl::Span<const std::vector<int32_t>> sources,
              absl::Span<const size_t> order, DecoderState<float>* state);
  EncodedSource<float> LiveSources() const;
  void Extend(const float* logits, int64_t vocabulary, int64_t first_row,
              BestContinuations* best, Sentence* sentence) const;
  bool Done(const Sentence& sentence) const;
  Translation Best(const Sentence& sentence) const;
  void Remove(int64_t sentence);
  void LayOutRows();

  template <typename U>
  absl::Span<U> New(int64_t count) const {
    return {forward_.tape().scratch().New<U>(count),
            static_cast<size_t>(count)};
  }

  const Seq2SeqModel<float>& model_;
  Forward<float>& forward_;
  const SearchOptions options_;
  int64_t time_ = 0;
  EncodedSource<float> encoded_;
  // The first `live_` are not done yet; `lengths_` are those of their sources.
  absl::Span<Sentence> sentences_;
  absl::Span<int32_t> lengths_;
  int64_t live_ = 0;
  absl::Span<StepTrace> steps_;
  int64_t step_ = 0;
};

void BatchSearch::Encode(absl::Span<const std::vector<int32_t>> sources,
                         absl::Span<const size_t> order,
                         DecoderState<float>* state) {
  live_ = static_cast<int64_t>(order.size());
  int64_t longest = 0;
  for (const size_t index : order) {
    time_ = std::max(time_, static_cast<int64_t>(sources[index].size()));
    longest =
        std::max(longest, LongestTranslation(model_, sources[index], options_));
  }
  const absl::Span<int32_t> ids = New<int32_t>(live_ * time_);
  std::fill(ids.begin(), ids.end(), Vocabulary::kPad);
  lengths_ = New<int32_t>(live_);
  sentences_ = New<Sentence>(live_);
  steps_ = New<StepTrace>(longest);
  for (size_t i = 0; i < order.size(); ++i) {
    const std::vector<int32_t>& source = sources[order[i]];
    std::copy(source.begin(), source.end(), ids.begin() + i * time_);
    lengths_[i] = static_cast<int32_t>(source.size());
    sentences_[i] = {};
    sentences_[i].index = order[i];
    sentences_[i].length = lengths_[i];
    sentences_[i].longest = LongestTranslation(model_, source, options_);
    sentences_[i].beams = New<Hypothesis>(options_.beam);
    sentences_[i].beams[0] = {0, 0, Vocabulary::kBegin};
    sentences_[i].num_beams = 1;
  }
  encoded_ = model_.Encode(forward_, ids, lengths_, state);
}

EncodedSource<float> BatchSearch::LiveSources() const {
  const auto live = [this](Var<float> x) {
    return x.has_value() ? forward_.tape().Leaf(x.data(), /*grad=*/nullptr,
                                                x.shape().With(0, live_))
                         : x;
  };
  EncodedSource<float> sources = encoded_;
  sources.mask.key_lengths = lengths_.first(live_);
  sources.keys = live(encoded_.keys);
  sources.values = live(encoded_.values);
  sources.context = live(encoded_.context);
  return sources;
}

// Keeps the best continuations of a sentence, whose hypotheses are `first_row`
// and the rows after it.
void BatchSearch::Extend(const float* logits, int64_t vocabulary,
                         int64_t first_row, BestContinuations* best,
                         Sentence* sentence) const {
  best->Clear();
  for (int64_t b = 0; b < sentence->num_beams; ++b) {
    best->Add(static_cast<int32_t>(b), sentence->beams[b].log_probability,
              logits + (first_row + b) * vocabulary);
  }
  sentence->num_beams = 0;
  for (const Continuation& next : best->best()) {
    const Hypothesis hypothesis = {next.log_probability,
                                   static_cast<int32_t>(first_row) + next.beam,
                                   next.id};
    if (next.id != Vocabulary::kEnd) {
      sentence->beams[sentence->num_beams++] = hypothesis;
      continue;
    }
    // Log probability per id, <eos> included.
    const double score = next.log_probability / static_cast<double>(step_ + 1);
    if (sentence->num_ended++ == 0 || score > sentence->best_score) {
      sentence->best_score = score;
      sentence->best = hypothesis;
      sentence->best_step = step_;
    }
  }
}

bool BatchSearch::Done(const Sentence& sentence) const {
  return sentence.num_ended >= options_.beam || sentence.num_beams == 0 ||
         step_ + 1 >= sentence.longest;
}

Translation BatchSearch::Best(const Sentence& sentence) const {
  Translation translation;
  translation.finished = sentence.num_ended > 0;
  const Hypothesis& best =
      translation.finished ? sentence.best : sentence.beams[0];
  const int64_t last_step = translation.finished ? sentence.best_step : step_;
  translation.log_probability = best.log_probability;
  translation.ids.resize(last_step + 1);
  translation.ids.back() = best.last;
  if (model_.has_attention()) {
    translation.weights.resize((last_step + 1) * sentence.length);
  }
  int32_t row = best.row;
  for (int64_t step = last_step;; --step) {
    if (model_.has_attention()) {
      std::copy_n(steps_[step].weights + row * time_, sentence.length,
                  translation.weights.begin() + step * sentence.length);
    }
    if (step == 0) break;
    translation.ids[step - 1] = steps_[step - 1].words[row];
    row = steps_[step - 1].rows[row];
  }
  if (translation.finished) translation.ids.pop_back();  // <eos>
  return translation;
}

// The last of the live sentences takes the place of one that is done.
void BatchSearch::Remove(int64_t sentence) {
  --live_;
  if (sentence == live_) return;
  sentences_[sentence] = sentences_[live_];
  lengths_[sentence] = lengths_[live_];
  for (const Var<float> x :
       {encoded_.keys, encoded_.values, encoded_.context}) {
    if (!x.has_value()) continue;
    const int64_t size = x.size() / x.dim(0);
    std::copy_n(x.data() + live_ * size, size, x.data() + sentence * size);
  }
}

// Decides on the rows of the next step: as many for each sentence as a beam may
// have, whatever the others need. Rows that no hypothesis needs repeat the
// first.
void BatchSearch::LayOutRows() {
  const int64_t beams = options_.beam;
  StepTrace& trace = steps_[step_];
  trace.rows = New<int32_t>(live_ * beams);
  trace.words = New<int32_t>(live_ * beams);
  for (int64_t i = 0; i < live_; ++i) {
    const Sentence& sentence = sentences_[i];
    for (int64_t b = 0; b < beams; ++b) {
      const Hypothesis& hypothesis =
          sentence.beams[b < sentence.num_beams ? b : 0];
      trace.rows[i * beams + b] = hypothesis.row;
      trace.words[i * beams + b] = hypothesis.last;
    }
  }
}

void BatchSearch::Run(absl::Span<const std::vector<int32_t>> sources,
                      absl::Span<const size_t> order,
                      std::vector<Translation>* translations) {
  Tape<float>& tape = forward_.tape();
  forward_.BeginStep();
  const ScratchScope<float> scratch(tape);
  DecoderState<float> state;
  Encode(sources, order, &state);
  KeptState<float> kept(state, live_ * options_.beam, tape.scratch());
  const int64_t vocabulary = model_.target_vocabulary();
  KnownWords known_words(model_, forward_, vocabulary);
  BestContinuations best(options_.beam, vocabulary, tape.scratch());
  absl::Span<int32_t> words = New<int32_t>(live_);
  std::fill(words.begin(), words.end(), Vocabulary::kBegin);
  for (step_ = 0; live_ > 0; ++step_) {
    const Tape<float>::Mark mark = tape.Save();
    const auto rows = static_cast<int64_t>(words.size());
    const auto step = model_.Advance(
        forward_, LiveSources(), step_ == 0 ? state : kept.View(tape, live_),
        known_words.Embed(words));
    const Var<float> logits = model_.Logits(forward_, step.readout);
    StepTrace& trace = steps_[step_];
    trace = {};
    if (step.weights.has_value()) {
      const absl::Span<float> weights = New<float>(rows * time_);
      std::copy_n(step.weights.data(), weights.size(), weights.data());
      trace.weights = weights.data();
    }
    const int64_t beams = rows / live_;
    for (int64_t i = 0; i < live_; ++i) {
      Extend(logits.data(), vocabulary, i * beams, &best, &sentences_[i]);
    }
    for (int64_t i = live_; i-- > 0;) {
      if (!Done(sentences_[i])) continue;
      (*translations)[sentences_[i].index] = Best(sentences_[i]);
      Remove(i);
    }
    LayOutRows();
    words = trace.words;
    kept.Gather(step.state, trace.rows);
    tape.Rewind(mark);
  }
}

// Switches recording off during its life.
class WithoutRecording {
 public:
  explicit WithoutRecording(Tape<float>& tape)
      : tape_(tape), recording_(tape.recording()) {
    tape_.set_recording(false);
  }
  ~WithoutRecording() { tape_.set_recording(recording_); }

  WithoutRecording(const WithoutRecording&) = delete;
  WithoutRecording& operator=(const WithoutRecording&) = delete;

 private:
  Tape<float>& tape_;
  const bool recording_;
};

}  // namespace

std::vector<Translation> Search(const Seq2SeqModel<float>& model,
                                Forward<float>& forward,
                                absl::Span<const std::vector<int32_t>> sources,
                                const SearchOptions& options) {
  const WithoutRecording without_recording(forward.tape());
  std::vector<Translation> translations(sources.size());
  // Sources of one length share a batch, which then has little padding.
  std::vector<size_t> order;
  for (size_t i = 0; i < sources.size(); ++i) {
    if (LongestTranslation(model, sources[i], options) > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_pair(sources[a].size(), a) <
           std::make_pair(sources[b].size(), b);
  });
  const auto beam = static_cast<size_t>(options.beam);
  for (size_t begin = 0; begin < order.size();) {
    const auto fits = [&](size_t end) {
      const size_t count = end - begin + 1;
      return count <= kMostSources && count * beam <= kMostRows &&
             count * beam * sources[order[end]].size() <= kMostWeights;
    };
    size_t end = begin + 1;
    while (end < order.size() && fits(end)) ++end;
    BatchSearch(model, forward, options)
        .Run(sources, absl::MakeConstSpan(order).subspan(begin, end - begin),
             &translations);
    begin = end;
  }
  return translations;
}

}  // namespace regard
