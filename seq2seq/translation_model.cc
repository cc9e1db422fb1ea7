#include "seq2seq/translation_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/ops/loss.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/d2l_bleu.h"
#include "seq2seq/metrics/exact_match.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

}  // namespace

TranslationModel::TranslationModel(
    const Encoder& encoder, const Decoder& decoder, const Attention& attention,
    const ScorerRegistry& scorers, Vocabulary source, Vocabulary target,
    TranslationData data, const TranslationOptions& options)
    : options_(options),
      translator_(encoder, decoder, attention, scorers, std::move(source),
                  std::move(target), options.num_steps, options.seed),
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

int64_t TranslationModel::LongestDistance() const {
  size_t longest = 1;
  const auto measure = [&](absl::Span<const EncodedPair> pairs) {
    for (const EncodedPair& pair : pairs) {
      longest = std::max({longest, pair.source.size(), pair.target.size()});
    }
  };
  measure(train_);
  for (const auto* split : {&data_.dev, &data_.test, &data_.test_apart}) {
    measure(EncodePairs(*split));
  }
  return static_cast<int64_t>(longest) - 1;
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
  const Seq2SeqModel<float>& model = translator_.model();
  const Batch batch = MakeBatch(train_, examples, forward.tape().arena());
  const Var<float> readouts =
      model.TeacherForced(forward, batch, /*weights=*/nullptr);
  sums[0] =
      LinearCrossEntropy(readouts.WithShape({readouts.rows(), readouts.cols()}),
                         forward[model.output_weight()],
                         forward[model.output_bias()], batch.target,
                         {.label_smoothing = options_.label_smoothing,
                          .ignore_id = Vocabulary::kPad});
}

TranslationModel::Prediction TranslationModel::PredictTokens(
    Forward<float>& forward, absl::Span<const EncodedPair> pairs) const {
  const Seq2SeqModel<float>& model = translator_.model();
  double loss = 0;
  int64_t right = 0;
  int64_t tokens = 0;
  std::vector<int64_t> examples;
  const auto size = static_cast<int64_t>(pairs.size());
  for (int64_t begin = 0; begin < size; begin += kEvaluationBatch) {
    examples.resize(std::min(kEvaluationBatch, size - begin));
    std::iota(examples.begin(), examples.end(), begin);
    forward.BeginStep();
    const Batch batch = MakeBatch(pairs, examples, forward.tape().arena());
    const Var<float> logits = model.Logits(
        forward, model.TeacherForced(forward, batch, /*weights=*/nullptr));
    loss += CrossEntropy(logits, batch.target, {.ignore_id = Vocabulary::kPad})
                .item();
    for (int64_t row = 0; row < logits.rows(); ++row) {
      if (batch.target[row] == Vocabulary::kPad) continue;
      const float* begin_row = logits.data() + row * logits.cols();
      const auto best =
          std::max_element(begin_row, begin_row + logits.cols()) - begin_row;
      right += best == batch.target[row];
      ++tokens;
    }
  }
  const auto count = static_cast<double>(tokens);
  return {loss / count, static_cast<double>(right) / count};
}

void TranslationModel::EvaluateSplit(
    Forward<float>& forward, absl::Span<const SentencePair> pairs,
    const std::string& suffix, std::vector<Measurement>* measurements) const {
  if (pairs.empty()) return;
  const auto add = [&](absl::string_view name, double value) {
    measurements->push_back({absl::StrCat(name, suffix), value});
  };
  const Prediction prediction = PredictTokens(forward, EncodePairs(pairs));
  add("loss", prediction.loss);
  add("perplexity", std::exp(prediction.loss));
  add("token_accuracy", prediction.accuracy);
  std::vector<std::vector<std::string>> sources;
  for (const SentencePair& pair : pairs) sources.push_back(pair.source);
  const std::vector<Translation> translations =
      translator_.Translate(forward, sources, /*beam=*/1);
  ExactMatch exact_match;
  double d2l_bleu = 0;
  AlignmentErrorRate alignment;
  bool aligned = false;
  std::vector<std::string> predictions;
  std::vector<std::vector<std::string>> references;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::vector<std::string> words = translator_.Words(translations[i]);
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
  if (!has_attention()) return;
  // Alignment is asked of the true translation: teacher-forced weights have a
  // row for each of its words.
  const std::vector<EncodedPair> encoded = EncodePairs(pairs);
  for (size_t begin = 0; begin < pairs.size(); begin += kEvaluationBatch) {
    std::vector<int64_t> examples;
    const size_t end = std::min(begin + kEvaluationBatch, pairs.size());
    for (size_t i = begin; i < end; ++i) {
      examples.push_back(static_cast<int64_t>(i));
    }
    forward.BeginStep();
    const Batch batch = MakeBatch(encoded, examples, forward.tape().arena());
    std::vector<Var<float>> weights;
    translator_.model().TeacherForced(forward, batch, &weights);
    for (size_t i = begin; i < end; ++i) {
      const SentencePair& pair = pairs[i];
      if (pair.alignment.empty()) continue;
      aligned = true;
      const auto source_ids = static_cast<int>(encoded[i].source.size());
      const auto target_words = static_cast<int>(
          std::min(pair.target.size(), encoded[i].target.size()));
      std::vector<float> matrix;
      for (int u = 0; u < target_words; ++u) {
        const float* row = weights[u].data() +
                           static_cast<int64_t>(i - begin) * batch.source_time;
        matrix.insert(matrix.end(), row, row + source_ids);
      }
      std::vector<AlignmentLink> links =
          GreatestLinks(matrix, target_words, source_ids);
      // A row that looks at <eos> above all has no link.
      std::erase_if(links, [&](const AlignmentLink& link) {
        return link.source >= static_cast<int>(pair.source.size());
      });
      alignment.Add(links, pair.alignment);
    }
  }
  if (aligned) add("alignment_error_rate", alignment.Rate());
}

void TranslationModel::Evaluate(Forward<float>& forward, Split split,
                                std::vector<Measurement>* measurements) const {
  switch (split) {
    case Split::kTrain:
      if (options_.num_steps == 0) return;
      measurements->push_back(
          {"d2l_loss", PredictTokens(forward, train_).loss /
                           static_cast<double>(options_.num_steps)});
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
