#include "seq2seq/search.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autodiff/ops/softmax.h"
#include "seq2seq/vocabulary.h"

namespace regard {

namespace {

// Sources that are encoded and searched together.
constexpr int64_t kBatch = 64;

// A beginning of a translation.
struct Hypothesis {
  Translation translation;
  int32_t last = Vocabulary::kBegin;
};

// A hypothesis with one more word.
struct Candidate {
  double log_probability;
  int beam;
  int32_t id;
};

// Orders candidates from the best; equals by beam and id, so that the order is
// the same everywhere.
bool Better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) {
    return a.log_probability > b.log_probability;
  }
  return std::make_pair(a.beam, a.id) < std::make_pair(b.beam, b.id);
}

// Log probability per id, <eos> included.
double Score(const Translation& translation) {
  return translation.log_probability /
         static_cast<double>(translation.ids.size() + 1);
}

// The search for one sentence.
struct Sentence {
  int64_t source_length;
  int64_t longest;  // words a translation may have
  std::vector<Hypothesis> beams;
  std::vector<Translation> finished;

  bool done(int beam) const {
    return beams.empty() || static_cast<int>(finished.size()) >= beam;
  }
};

// Keeps the best `beam` continuations of a sentence. log_probabilities
// [rows of the sentence, vocabulary]; weights [rows, time] or null. Fills
// `origins` with the beam that each kept one continues.
void Extend(int beam, absl::Span<const float> log_probabilities,
            int64_t vocabulary, const float* weights, int64_t time,
            Sentence* sentence, std::vector<int>* origins) {
  std::vector<Candidate> candidates;
  for (size_t b = 0; b < sentence->beams.size(); ++b) {
    const double so_far = sentence->beams[b].translation.log_probability;
    for (int64_t id = 0; id < vocabulary; ++id) {
      if (id == Vocabulary::kPad || id == Vocabulary::kBegin) continue;
      candidates.push_back(
          {so_far + static_cast<double>(
                        log_probabilities[b * static_cast<size_t>(vocabulary) +
                                          static_cast<size_t>(id)]),
           static_cast<int>(b), static_cast<int32_t>(id)});
    }
  }
  const auto kept =
      std::min<int64_t>(beam, static_cast<int64_t>(candidates.size()));
  std::partial_sort(candidates.begin(), candidates.begin() + kept,
                    candidates.end(), Better);
  std::vector<Hypothesis> next;
  for (int64_t i = 0; i < kept; ++i) {
    const Candidate& candidate = candidates[i];
    Hypothesis extended = sentence->beams[candidate.beam];
    Translation& translation = extended.translation;
    translation.log_probability = candidate.log_probability;
    if (weights != nullptr) {
      const float* row = weights + candidate.beam * time;
      translation.weights.insert(translation.weights.end(), row,
                                 row + sentence->source_length);
    }
    if (candidate.id == Vocabulary::kEnd) {
      translation.finished = true;
      sentence->finished.push_back(std::move(translation));
      continue;
    }
    translation.ids.push_back(candidate.id);
    extended.last = candidate.id;
    origins->push_back(candidate.beam);
    next.push_back(std::move(extended));
  }
  sentence->beams = std::move(next);
}

Translation Best(const Sentence& sentence) {
  const Translation* best = nullptr;
  for (const Translation& translation : sentence.finished) {
    if (best == nullptr || Score(translation) > Score(*best)) {
      best = &translation;
    }
  }
  if (best != nullptr) return *best;
  return sentence.beams.empty() ? Translation() : sentence.beams[0].translation;
}

void SearchBatch(const Seq2SeqModel<float>& model, Forward<float>& forward,
                 absl::Span<const std::vector<int32_t>> sources,
                 const SearchOptions& options,
                 std::vector<Translation>* translations) {
  forward.BeginStep();
  const auto batch = static_cast<int64_t>(sources.size());
  int64_t time = 0;
  for (const auto& source : sources) {
    time = std::max(time, static_cast<int64_t>(source.size()));
  }
  std::vector<int32_t> ids(batch * time, Vocabulary::kPad);
  std::vector<int32_t> lengths;
  std::vector<Sentence> sentences;
  for (int64_t b = 0; b < batch; ++b) {
    std::copy(sources[b].begin(), sources[b].end(), ids.begin() + b * time);
    lengths.push_back(static_cast<int32_t>(sources[b].size()));
    sentences.push_back(
        {lengths.back(),
         int64_t{options.length_factor} * lengths.back() + options.extra_length,
         {Hypothesis()},
         {}});
  }
  DecoderState<float> state;
  const EncodedSource<float> source =
      model.Encode(forward, ids, lengths, &state);
  int64_t beams = 1;  // rows per source at the moment
  for (int64_t length = 0;; ++length) {
    std::vector<int32_t> last;
    for (const Sentence& sentence : sentences) {
      for (int64_t b = 0; b < beams; ++b) {
        last.push_back(b < static_cast<int64_t>(sentence.beams.size())
                           ? sentence.beams[b].last
                           : Vocabulary::kPad);
      }
    }
    const auto step = model.Advance(
        forward, source, state, model.Embed(forward, last, {batch * beams}));
    const Var<float> log_probabilities =
        LogSoftmax(model.Logits(forward, step.readout));
    const int64_t vocabulary = log_probabilities.cols();
    std::vector<int32_t> rows;
    bool all_done = true;
    for (int64_t b = 0; b < batch; ++b) {
      Sentence& sentence = sentences[b];
      std::vector<int> origins;
      if (!sentence.done(options.beam) && length < sentence.longest) {
        Extend(options.beam,
               absl::MakeConstSpan(
                   log_probabilities.data() + b * beams * vocabulary,
                   static_cast<size_t>(beams * vocabulary)),
               vocabulary,
               step.weights.has_value() ? step.weights.data() + b * beams * time
                                        : nullptr,
               time, &sentence, &origins);
        all_done &= sentence.done(options.beam);
      }
      // Rows that no hypothesis needs repeat the first.
      origins.resize(options.beam, 0);
      for (const int origin : origins) {
        rows.push_back(static_cast<int32_t>(b * beams + origin));
      }
    }
    if (all_done) break;
    state = model.Gather(step.state, rows);
    beams = options.beam;
  }
  for (const Sentence& sentence : sentences) {
    translations->push_back(Best(sentence));
  }
}

}  // namespace

std::vector<Translation> Search(const Seq2SeqModel<float>& model,
                                Forward<float>& forward,
                                absl::Span<const std::vector<int32_t>> sources,
                                const SearchOptions& options) {
  std::vector<Translation> translations;
  for (size_t begin = 0; begin < sources.size(); begin += kBatch) {
    SearchBatch(model, forward, sources.subspan(begin, kBatch), options,
                &translations);
  }
  return translations;
}

}  // namespace regard
