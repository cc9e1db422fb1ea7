#include "language/text_embedder.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "autodiff/arena.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "data/text/wordpiece_config.h"
#include "evaluation/batches.h"
#include "files/number_text.h"
#include "language/bert_trace.h"
#include "language/correlation.h"
#include "language/cut_note.h"
#include "language/sentence_embedder.h"
#include "language/text_vectors.h"
#include "seq2seq/padded_ids.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// The number of special tokens: [CLS] and [SEP].
constexpr int64_t kShortestText = 2;

// The number of pairs that an evaluation reads at once.
constexpr int64_t kEvaluationPairs = 32;

// Returns the cosine similarity of rows 2 * pair and 2 * pair + 1.
double SimilarityOf(Var<float> pooled, size_t pair) {
  const auto width = static_cast<size_t>(pooled.cols());
  std::vector<float> vectors(2 * width);
  const absl::Span<float> both = absl::MakeSpan(vectors);
  for (const size_t i : {0, 1}) {
    NormalizeVector(pooled.span().subspan((2 * pair + i) * width, width),
                    both.subspan(i * width, width));
  }
  return Similarity(both.subspan(0, width), both.subspan(width));
}

}  // namespace

void ValidateTextEmbedder(const TextEmbedderConfig& config,
                          const AttentionRegistry& scorers,
                          ConfigProblems& problems) {
  problems.CheckOwnRanges(config);
  {
    const ConfigProblems::Scope scope(problems, "tokens");
    ValidateTokens(config.tokens(), problems);
  }
  const ConfigProblems::Scope scope(problems, "bert");
  ValidateBert(config.bert(), scorers, problems);
  if (config.bert().has_masked_words()) {
    problems.Note("masked_words",
                  "has no effect: an embedder masks no words; set its `tokens` "
                  "and `longest` instead");
  }
}

SentenceEmbeddingModel::SentenceEmbeddingModel(const TextEmbedderConfig& config,
                                               const AttentionRegistry& scorers,
                                               WordPiece pieces,
                                               ScoredPairSplits data,
                                               const ModelOptions& options)
    : BertBasedModel(options.loss),
      config_(config),
      pieces_(std::move(pieces)),
      data_(std::move(data)),
      bert_(config.bert(), scorers, pieces_.size(), parameters_.Root()),
      train_(Encode(data_.train)) {
  if (options.finalize) parameters_.Finalize(options.seed);
}

int64_t SentenceEmbeddingModel::longest() const {
  return std::min<int64_t>(config_.longest(), bert_.longest_position());
}

void SentenceEmbeddingModel::ValidateData(ConfigProblems& problems) const {
  if (longest() >= kShortestText) return;
  problems.Add("bert.transformer",
               absl::StrCat("must support at least ", kShortestText,
                            " positions, for [CLS] and [SEP]; supports only ",
                            longest()));
}

SequenceLengths SentenceEmbeddingModel::Lengths(int64_t example) const {
  const Example& pair = train_[static_cast<size_t>(example)];
  return {static_cast<int64_t>(std::max(pair.first.size(), pair.second.size())),
          0};
}

auto SentenceEmbeddingModel::Encode(absl::Span<const ScoredPair> pairs) const
    -> std::vector<Example> {
  std::vector<Example> examples;
  if (longest() < kShortestText) return examples;
  for (const ScoredPair& pair : pairs) {
    examples.push_back({pieces_.Encode(pair.first, longest()),
                        pieces_.Encode(pair.second, longest()),
                        static_cast<float>(pair.score)});
  }
  return examples;
}

Var<float> SentenceEmbeddingModel::Pooled(Forward<float>& forward,
                                          int64_t texts,
                                          TextOfRow text_of_row) const {
  const PaddedIds ids = PadSequences(texts, pieces_.separator(),
                                     forward.tape().arena(), text_of_row);
  const Var<float> hidden =
      bert_(forward, {.size = texts, .ids = ids.ids, .lengths = ids.lengths});
  return forward.Site("readout",
                      PoolTokens(config_.pooling(), hidden, ids.lengths));
}

Var<float> SentenceEmbeddingModel::Pooled(
    Forward<float>& forward, const std::vector<Example>& all,
    absl::Span<const int64_t> examples) const {
  return Pooled(
      forward, 2 * static_cast<int64_t>(examples.size()), [&](int64_t row) {
        const Example& pair =
            all[static_cast<size_t>(examples[static_cast<size_t>(row / 2)])];
        return absl::MakeConstSpan(row % 2 == 0 ? pair.first : pair.second);
      });
}

void SentenceEmbeddingModel::Loss(Forward<float>& forward,
                                  absl::Span<const int64_t> examples,
                                  absl::Span<const double>,
                                  absl::Span<Var<float>> sums) const {
  const auto size = static_cast<int64_t>(examples.size());
  Tape<float>& tape = forward.tape();
  // Each text has its own random numbers.
  auto* const texts = tape.arena().New<int64_t>(2 * size);
  for (int64_t row = 0; row < 2 * size; ++row) {
    texts[row] = 2 * examples[static_cast<size_t>(row / 2)] + row % 2;
  }
  RandomState random = tape.random();
  random.examples = {texts, 2 * examples.size()};
  tape.set_random(random);
  const Var<float> pooled =
      Pooled(forward, train_, examples).Reshape({size, 2, bert_.width()});
  const Var<float> a = Slice(pooled, 1, 0, 1);
  const Var<float> b = Slice(pooled, 1, 1, 1);
  // The constant avoids division by 0 if a vector is 0.
  const Var<float> norms = Sqrt(Sum(Square(a), 2) * Sum(Square(b), 2) + 1e-24F);
  Var<float> scores = tape.Constant({size, 1});
  for (size_t i = 0; i < examples.size(); ++i) {
    scores.data()[i] = train_[static_cast<size_t>(examples[i])].score;
  }
  sums[0] = Sum(Square(Sum(a * b, 2) / norms - scores));
}

EvaluatedSet SentenceEmbeddingModel::Compare(
    Forward<float>& forward, absl::Span<const ScoredPair> pairs) const {
  const std::vector<Example> encoded = Encode(pairs);
  EvaluatedSet set;
  std::vector<double> similarities;
  std::vector<double> scores;
  double loss = 0;
  const auto compare = [&](Forward<float>& passes,
                           absl::Span<const int64_t> examples) {
    const Var<float> pooled = Pooled(passes, encoded, examples);
    std::vector<double> found;
    for (size_t i = 0; i < examples.size(); ++i) {
      found.push_back(SimilarityOf(pooled, i));
    }
    return found;
  };
  const auto add = [&](absl::Span<const int64_t> examples,
                       const std::vector<double>& found) {
    for (size_t i = 0; i < examples.size(); ++i) {
      const ScoredPair& pair = pairs[static_cast<size_t>(examples[i])];
      similarities.push_back(found[i]);
      scores.push_back(pair.score);
      const double error = similarities.back() - pair.score;
      loss += error * error;
      set.examples.push_back(
          {.input = absl::StrCat(pair.first, " | ", pair.second),
           .reference = NumberText(pair.score),
           .output = NumberText(static_cast<float>(similarities.back()))});
    }
  };
  const auto size = static_cast<int64_t>(pairs.size());
  ForEachBatch(forward, size, kEvaluationPairs, compare, add);
  set.metrics = {
      CorrelationMetric("spearman", RanksOf(similarities), RanksOf(scores)),
      CorrelationMetric("pearson", similarities, scores)};
  set.totals = {{"loss", loss / static_cast<double>(size)}};
  return set;
}

absl::StatusOr<SentenceEmbeddingModel::EncodedInput>
SentenceEmbeddingModel::Read(const PredictionRequest& request) const {
  REGARD_RETURN_IF_ERROR(CheckIsText(request));
  EncodedInput encoded = {.input = request.text};
  if (request.example >= 0) {
    const std::vector<ScoredPair>& pairs =
        data_.test.empty() ? data_.dev : data_.test;
    REGARD_RETURN_IF_ERROR(CheckExample(request, pairs.size()));
    const ScoredPair& pair = pairs[static_cast<size_t>(request.example)];
    encoded.input = absl::StrCat(pair.first, "\t", pair.second);
    encoded.reference = NumberText(pair.score);
  }
  REGARD_ASSIGN_OR_RETURN(const auto texts, ParseTextOrPair(encoded.input));
  for (const absl::string_view text : texts) encoded.texts.emplace_back(text);
  return encoded;
}

absl::StatusOr<Prediction> SentenceEmbeddingModel::Predict(
    Forward<float>& forward, const PredictionRequest& request) const {
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  Prediction prediction = {.input = encoded.input,
                           .reference = encoded.reference};
  std::vector<std::vector<int32_t>> texts;
  for (const std::string& text : encoded.texts) {
    texts.push_back(pieces_.Encode(text, longest()));
    for (std::string& note : TruncationNotes(pieces_, {text}, longest())) {
      prediction.notes.push_back(std::move(note));
    }
  }
  forward.BeginStep();
  const Var<float> pooled =
      Pooled(forward, static_cast<int64_t>(texts.size()), [&](int64_t row) {
        return absl::MakeConstSpan(texts[static_cast<size_t>(row)]);
      });
  std::vector<float> numbers(static_cast<size_t>(pooled.cols()));
  if (texts.size() == 2) {
    numbers = {static_cast<float>(SimilarityOf(pooled, 0))};
  } else {
    FinishVector(vectors(), pooled.span(), absl::MakeSpan(numbers));
  }
  prediction.values.assign(numbers.begin(), numbers.end());
  prediction.text = VectorText(numbers);
  return prediction;
}

absl::StatusOr<TraceablePrediction<float>> SentenceEmbeddingModel::Trace(
    Forward<float>& forward, const PredictionRequest& request,
    const TraceOptions& options) const {
  REGARD_RETURN_IF_ERROR(CheckNoTarget(options));
  REGARD_ASSIGN_OR_RETURN(const EncodedInput encoded, Read(request));
  // The trace must show the typed text, so the text must not be truncated.
  const std::vector<int32_t> first =
      pieces_.Encode(encoded.texts[0], std::numeric_limits<int64_t>::max());
  const int64_t most = std::min(longest(), options.most_tokens);
  if (std::ssize(first) <= kShortestText || std::ssize(first) > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a text of ", kShortestText + 1, " to ", most,
                     " tokens, including [CLS] and [SEP]; got ", first.size()));
  }
  TraceablePrediction<float> traced = {
      .labels = BertTraceDescription(pieces_, first)};
  TraceDescription& labels = traced.labels;
  labels.input = encoded.input;
  const auto vector_of = [this](Forward<float>& with,
                                const std::vector<int32_t>& ids) {
    return Pooled(with, 1, [&](int64_t) { return absl::MakeConstSpan(ids); });
  };
  if (encoded.texts.size() == 1) {
    labels.prediction = absl::StrJoin(labels.sequences[0].labels, " ");
    traced.pass = [vector_of, first](Forward<float>& with) {
      vector_of(with, first);
      return Var<float>();
    };
    return traced;
  }
  std::vector<float> second(static_cast<size_t>(bert_.width()));
  forward.BeginStep();
  NormalizeVector(
      vector_of(forward, pieces_.Encode(encoded.texts[1], longest())).span(),
      absl::MakeSpan(second));
  REGARD_ASSIGN_OR_RETURN(const Prediction prediction,
                          Predict(forward, request));
  labels.prediction = prediction.text;
  labels.notes =
      prediction.notes;  // includes notes on a second text that is truncated
  labels.outputs = {{"similarity"}};
  labels.output_unit = "similarity";
  labels.chosen = 0;
  traced.pass = [vector_of, first, second](Forward<float>& with) {
    const Var<float> vector = vector_of(with, first);
    const Var<float> other = with.tape().Constant(vector.shape(), second);
    // The constant avoids division by 0 if the vector is 0.
    const Var<float> norm = Sqrt(Sum(Square(vector), 1) + 1e-24F);
    return Sum(vector * other, 1) / norm;
  };
  return traced;
}

std::vector<EvaluatedSet> SentenceEmbeddingModel::Evaluate(
    Forward<float>& forward, Split split) const {
  if (split == Split::kTrain) return {};
  const std::vector<ScoredPair>& pairs =
      split == Split::kDev ? data_.dev : data_.test;
  if (pairs.empty()) return {};
  return {Compare(forward, pairs)};
}

}  // namespace regard
