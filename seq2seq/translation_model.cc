#include "seq2seq/translation_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "seq2seq/decoder.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/d2l_bleu.h"
#include "seq2seq/metrics/exact_match.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

// Calls visit(batch, first) for batches of `pairs`, each a step of `forward`.
template <typename F>
void ForEachBatch(Forward<float>& forward, absl::Span<const EncodedPair> pairs,
                  F visit) {
  std::vector<int64_t> examples;
  const auto size = static_cast<int64_t>(pairs.size());
  for (int64_t first = 0; first < size; first += kEvaluationBatch) {
    examples.resize(std::min(kEvaluationBatch, size - first));
    std::iota(examples.begin(), examples.end(), first);
    forward.BeginStep();
    visit(MakeBatch(pairs, examples, forward.tape().arena()), first);
  }
}

}  // namespace

TranslationModel::TranslationModel(const EncoderDecoderConfig& config,
                                   const ScorerRegistry& scorers,
                                   Vocabulary source, Vocabulary target,
                                   TranslationData data,
                                   const TranslationOptions& options)
    : options_(options),
      translator_(config, scorers, std::move(source), std::move(target),
                  options.num_steps, options.seed),
      data_(std::move(data)),
      train_(EncodePairs(data_.train)),
      terms_{{"loss", options.scale}} {}

std::vector<EncodedPair> TranslationModel::EncodePairs(
    absl::Span<const SentencePair> pairs) const {
  std::vector<EncodedPair> encoded;
  for (const SentencePair& pair : pairs) {
    encoded.push_back({translator_.EncodeSource(pair.source),
                       translator_.EncodeTarget(pair.target)});
  }
  return encoded;
}

TranslationModel::Lengths TranslationModel::LongestSentences() const {
  Lengths longest;
  const auto measure = [&](absl::Span<const EncodedPair> pairs) {
    for (const EncodedPair& pair : pairs) {
      longest.source =
          std::max(longest.source, static_cast<int64_t>(pair.source.size()));
      longest.target =
          std::max(longest.target, static_cast<int64_t>(pair.target.size()));
    }
  };
  measure(train_);
  for (const auto* split : {&data_.dev, &data_.test, &data_.test_apart}) {
    measure(EncodePairs(*split));
  }
  return longest;
}

int64_t TranslationModel::CountWork(absl::Span<const int64_t> examples) const {
  int64_t tokens = 0;
  for (const int64_t example : examples) {
    tokens += static_cast<int64_t>(train_[example].target.size());
  }
  return tokens;
}

void TranslationModel::Denominators(absl::Span<const int64_t> examples,
                                    absl::Span<double> denominators) const {
  using Normalizer = TranslationOptions::Normalizer;
  switch (options_.normalizer) {
    case Normalizer::kPerToken:
      denominators[0] = static_cast<double>(CountWork(examples));
      break;
    case Normalizer::kPerSequence:
      denominators[0] = static_cast<double>(examples.size());
      break;
    case Normalizer::kSum:
      denominators[0] = 1;
      break;
  }
}

void TranslationModel::Loss(Forward<float>& forward,
                            absl::Span<const int64_t> examples,
                            absl::Span<const double>,
                            absl::Span<Var<float>> sums) const {
  const EncoderDecoder<float>& model = translator_.model();
  const Batch batch = MakeBatch(train_, examples, forward.tape().arena());
  sums[0] =
      model.decoder->head().Loss(forward, model.Run(forward, batch).readout,
                                 batch.target, options_.label_smoothing);
}

TokenScores TranslationModel::PredictTokens(
    Forward<float>& forward, absl::Span<const EncodedPair> pairs) const {
  const EncoderDecoder<float>& model = translator_.model();
  TokenScores sum;
  ForEachBatch(forward, pairs, [&](const Batch& batch, int64_t) {
    const TokenScores scores =
        ScoreTokens(model.decoder->head(), forward,
                    model.Run(forward, batch).readout, batch.target);
    sum.loss += scores.loss;
    sum.correct += scores.correct;
    sum.count += scores.count;
  });
  return sum;
}

AlignmentErrorRate TranslationModel::AlignmentOf(
    Forward<float>& forward, absl::Span<const SentencePair> pairs) const {
  AlignmentErrorRate rate;
  const std::vector<EncodedPair> encoded = EncodePairs(pairs);
  ForEachBatch(forward, encoded, [&](const Batch& batch, int64_t first) {
    const Var<float> weights = MemoryAlignment(
        translator_.model().Run(forward, batch, {.want_maps = true}).maps);
    const int64_t size = batch.target_time * batch.source_time;
    for (int64_t b = 0; b < batch.size; ++b) {
      const SentencePair& pair = pairs[static_cast<size_t>(first + b)];
      if (pair.alignment.empty()) continue;
      // A config may cut sentences.
      const EncodedPair& ids = encoded[static_cast<size_t>(first + b)];
      rate.Add(GreatestLinks(absl::MakeConstSpan(weights.data() + b * size,
                                                 static_cast<size_t>(size)),
                             static_cast<int>(batch.source_time),
                             static_cast<int>(std::min(pair.target.size(),
                                                       ids.target.size())),
                             static_cast<int>(std::min(pair.source.size(),
                                                       ids.source.size()))),
               pair.alignment);
    }
  });
  return rate;
}

void TranslationModel::EvaluateSplit(
    Forward<float>& forward, absl::Span<const SentencePair> pairs,
    const std::string& suffix, std::vector<Measurement>* measurements) const {
  if (pairs.empty()) return;
  const auto add = [&](absl::string_view name, double value) {
    measurements->push_back({absl::StrCat(name, suffix), value});
  };
  const TokenScores tokens = PredictTokens(forward, EncodePairs(pairs));
  const auto count = static_cast<double>(tokens.count);
  add("loss", tokens.loss / count);
  add("perplexity", std::exp(tokens.loss / count));
  add("token_accuracy", static_cast<double>(tokens.correct) / count);
  std::vector<std::vector<std::string>> sources;
  for (const SentencePair& pair : pairs) sources.push_back(pair.source);
  const std::vector<std::vector<Translation>> translations =
      translator_.Translate(forward, sources, options_.search,
                            /*want_weights=*/false);
  ExactMatch exact_match;
  double d2l_bleu = 0;
  std::vector<std::string> predictions;
  std::vector<std::vector<std::string>> references;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<std::string> words =
        translator_.Words(translations[i].front());
    exact_match.Add(words, pairs[i].target);
    d2l_bleu += D2lBleu(words, pairs[i].target);
    predictions.push_back(absl::StrJoin(words, " "));
    references.push_back({absl::StrJoin(pairs[i].target, " ")});
  }
  add("exact_match", exact_match.Share());
  if (options_.num_steps > 0) {
    add("d2l_bleu_k2", d2l_bleu / static_cast<double>(pairs.size()));
  }
  const BleuOptions bleu = {.tokenizer = BleuTokenizer::kNone};
  add("bleu", CorpusBleu(predictions, references, bleu).score);
  add("chrf", CorpusChrf(predictions, references));
  const bool aligned = std::any_of(
      pairs.begin(), pairs.end(),
      [](const SentencePair& pair) { return !pair.alignment.empty(); });
  if (aligned && has_attention()) {
    add("alignment_error_rate", AlignmentOf(forward, pairs).Rate());
  }
}

void TranslationModel::Evaluate(Forward<float>& forward, Split split,
                                std::vector<Measurement>* measurements) const {
  switch (split) {
    case Split::kTrain:
      if (options_.num_steps > 0) {
        const TokenScores tokens = PredictTokens(forward, train_);
        measurements->push_back(
            {"d2l_loss", tokens.loss / static_cast<double>(tokens.count) /
                             static_cast<double>(options_.num_steps)});
      }
      return;
    case Split::kDev:
      EvaluateSplit(forward, data_.dev, "", measurements);
      return;
    case Split::kTest:
      EvaluateSplit(forward, data_.test, "", measurements);
      EvaluateSplit(forward, data_.test_apart, "_apart", measurements);
      return;
  }
}

}  // namespace regard
