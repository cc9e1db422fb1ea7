#include "seq2seq/translation_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/tape.h"
#include "seq2seq/decoder.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/d2l_bleu.h"
#include "seq2seq/metrics/ter.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

constexpr ChrfOptions kWithWordPairs = {.word_order = 2};

BleuTokenizer BleuTokenizerOf(const EvaluationSet& set) {
  return set.references.empty() ? BleuTokenizer::kNone : BleuTokenizer::k13a;
}

std::string Prefix(const char* split, const EvaluationSet& set) {
  return absl::StrCat(split, set.name.empty() ? "" : ".", set.name, "/");
}

}  // namespace

std::vector<const EvaluationSet*> TranslationData::EvaluationSets() const {
  std::vector<const EvaluationSet*> sets;
  if (!dev.empty()) sets.push_back(&dev);
  for (const EvaluationSet& test : tests) {
    if (!test.empty()) sets.push_back(&test);
  }
  return sets;
}

TranslationModel::TranslationModel(const EncoderDecoderConfig& config,
                                   const ScorerRegistry& scorers,
                                   Vocabulary source, Vocabulary target,
                                   TranslationData data,
                                   const TranslationOptions& options)
    : Model(options.loss),
      options_(options),
      translator_(config, scorers, std::move(source), std::move(target),
                  options.num_steps, options.seed, options.tokenizers),
      data_(std::move(data)) {}

std::vector<EncodedPair> TranslationModel::EncodePairs(
    absl::Span<const SentencePair> pairs) const {
  std::vector<EncodedPair> encoded;
  for (const SentencePair& pair : pairs) {
    encoded.push_back({translator_.EncodeSource(pair.source),
                       translator_.EncodeTarget(pair.target)});
  }
  return encoded;
}

SequenceLengths TranslationModel::LongestSentences() const {
  SequenceLengths longest = {};
  const auto measure = [&](size_t source, size_t target) {
    longest[0] = std::max(longest[0], static_cast<int64_t>(source));
    longest[1] = std::max(longest[1], static_cast<int64_t>(target));
  };
  if (data_.sampler != nullptr) {
    const auto [source, target] = data_.sampler->Longest();
    longest = {source, target};
  }
  for (int64_t i = 0; i < data_.train.size(); ++i) {
    measure(data_.train[i].source.size(), data_.train[i].target.size());
  }
  for (const EvaluationSet* set : data_.EvaluationSets()) {
    for (const EncodedPair& pair : EncodePairs(set->pairs)) {
      measure(pair.source.size(), pair.target.size());
    }
  }
  return longest;
}

void TranslationModel::BeginEpoch(std::optional<int64_t> epoch) {
  if (data_.sampler == nullptr || epoch == epoch_) return;
  data_.sampler->Segment(epoch, translator_.source_vocabulary(),
                         translator_.target_vocabulary(), &data_.train);
  epoch_ = epoch;
}

int64_t TranslationModel::CountWork(absl::Span<const int64_t> examples) const {
  int64_t tokens = 0;
  for (const int64_t example : examples) {
    tokens += static_cast<int64_t>(data_.train[example].target.size());
  }
  return tokens;
}

// `examples` in the order in which a decoder can leave out the ends of targets.
absl::Span<const int64_t> TranslationModel::LongestFirst(
    absl::Span<const int64_t> examples, Arena& arena) const {
  auto* const order = arena.New<int64_t>(static_cast<int64_t>(examples.size()));
  std::copy(examples.begin(), examples.end(), order);
  std::sort(order, order + examples.size(), [this](int64_t a, int64_t b) {
    const size_t of_a = data_.train[a].target.size();
    const size_t of_b = data_.train[b].target.size();
    return of_a != of_b ? of_a > of_b : a < b;
  });
  return {order, examples.size()};
}

void TranslationModel::Loss(Forward<float>& forward,
                            absl::Span<const int64_t> examples,
                            absl::Span<const double>,
                            absl::Span<Var<float>> sums) const {
  Tape<float>& tape = forward.tape();
  // Random numbers stay those of each example.
  RandomState random = tape.random();
  random.examples = LongestFirst(examples, tape.arena());
  tape.set_random(random);
  const EncoderDecoder<float>& model = translator_.model();
  const Batch batch = MakeBatch(data_.train, random.examples, tape.arena());
  const Var<float> readout =
      model.Run(forward, batch, {.lengths = batch.input.lengths}).readout;
  sums[0] = model.decoder->head().Loss(forward, readout, batch.target,
                                       options_.loss.label_smoothing);
}

template <typename Pairs>
TokenScores TranslationModel::PredictTokens(Forward<float>& forward,
                                            const Pairs& pairs) const {
  const EncoderDecoder<float>& model = translator_.model();
  TokenScores sum;
  const auto score = [&](absl::Span<const int64_t> examples) {
    const Batch batch = MakeBatch(pairs, examples, forward.tape().arena());
    sum += ScoreTokens(model.decoder->head(), forward,
                       model.Run(forward, batch).readout, batch.target);
  };
  ForEachBatch(forward, static_cast<int64_t>(pairs.size()), kEvaluationBatch,
               score);
  return sum;
}

AlignmentErrorRate TranslationModel::AlignmentOf(
    Forward<float>& forward, absl::Span<const SentencePair> pairs) const {
  AlignmentErrorRate rate;
  const std::vector<EncodedPair> encoded = EncodePairs(pairs);
  const auto align = [&](absl::Span<const int64_t> examples) {
    const Batch batch = MakeBatch(encoded, examples, forward.tape().arena());
    const EncoderDecoder<float>& model = translator_.model();
    const Var<float> weights =
        MemoryAlignment(model.Run(forward, batch, {.want_maps = true}).maps,
                        model.decoder->alignment());
    const int64_t size = batch.input.time * batch.source.time;
    for (int64_t b = 0; b < batch.source.rows; ++b) {
      const auto example = static_cast<size_t>(examples[b]);
      const SentencePair& pair = pairs[example];
      if (pair.alignment.empty()) continue;
      // A config may cut sentences.
      const EncodedPair& ids = encoded[example];
      rate.Add(GreatestLinks(absl::MakeConstSpan(weights.data() + b * size,
                                                 static_cast<size_t>(size)),
                             static_cast<int>(batch.source.time),
                             static_cast<int>(std::min(pair.target.size(),
                                                       ids.target.size())),
                             static_cast<int>(std::min(pair.source.size(),
                                                       ids.source.size()))),
               pair.alignment);
    }
  };
  ForEachBatch(forward, static_cast<int64_t>(encoded.size()), kEvaluationBatch,
               align);
  return rate;
}

void TranslationModel::MeasureSet(
    Forward<float>& forward, const EvaluationSet& set,
    std::vector<Measurement>* measurements) const {
  const auto add = [&](absl::string_view name, double value) {
    measurements->push_back({absl::StrCat(name, set.suffix), value, set.name});
  };
  const TokenScores tokens = PredictTokens(forward, EncodePairs(set.pairs));
  const auto count = static_cast<double>(tokens.count);
  add("loss", tokens.loss / count);
  add("perplexity", std::exp(tokens.loss / count));
  add("token_accuracy", static_cast<double>(tokens.correct) / count);
  const bool aligned = std::any_of(
      set.pairs.begin(), set.pairs.end(),
      [](const SentencePair& pair) { return !pair.alignment.empty(); });
  if (aligned && has_attention()) {
    add("alignment_error_rate", AlignmentOf(forward, set.pairs).Rate());
  }
}

EvaluatedSet TranslationModel::TranslateSet(Forward<float>& forward,
                                            const EvaluationSet& set) const {
  std::vector<std::vector<std::string>> sources;
  for (const SentencePair& pair : set.pairs) sources.push_back(pair.source);
  const std::vector<std::vector<Translation>> translations =
      translator_.Translate(forward, sources, options_.search,
                            /*want_weights=*/false);
  const bool raw = !set.references.empty();
  ExampleMetric bleu = {"bleu", &kBleu};
  ExampleMetric chrf = {"chrf", &kChrf, /*of_single_examples=*/true};
  ExampleMetric chrf_plus_plus = {"chrf++", &kChrfPlusPlus,
                                  /*of_single_examples=*/true};
  ExampleMetric ter = {"ter", &kTer};
  ExampleMetric exact_match = {"exact_match"};
  ExampleMetric d2l_bleu = {"d2l_bleu_k2"};
  EvaluatedSet evaluated = {.set = set.name, .length_unit = "source tokens"};
  for (size_t i = 0; i < set.pairs.size(); ++i) {
    const SentencePair& pair = set.pairs[i];
    // Nothing is the translation of nothing, as //tools:translate has it.
    std::vector<std::string> words;
    if (!pair.source.empty()) {
      words = translator_.Words(translations[i].front());
    }
    const std::string output =
        raw ? translator_.TargetText(words) : absl::StrJoin(words, " ");
    const std::string reference =
        raw ? set.references[i] : absl::StrJoin(pair.target, " ");
    bleu.Add(BleuStatistics(output, {reference}, BleuTokenizerOf(set)));
    chrf.Add(ChrfStatistics(output, {reference}));
    if (raw) {
      chrf_plus_plus.Add(ChrfStatistics(output, {reference}, kWithWordPairs));
      ter.Add(TerStatistics(output, {reference}));
    }
    exact_match.Add({output == reference ? 1.0 : 0.0, 1.0});
    d2l_bleu.Add({D2lBleu(words, pair.target), 1.0});
    evaluated.examples.push_back(
        {.input = translator_.SourceText(pair.source),
         .reference = reference,
         .output = output,
         .length = static_cast<int64_t>(pair.source.size())});
  }
  evaluated.metrics = {std::move(bleu), std::move(chrf),
                       std::move(exact_match)};
  if (raw) {
    evaluated.metrics.push_back(std::move(chrf_plus_plus));
    evaluated.metrics.push_back(std::move(ter));
  }
  if (options_.num_steps > 0) evaluated.metrics.push_back(std::move(d2l_bleu));
  for (ExampleMetric& metric : evaluated.metrics) metric.name += set.suffix;
  return evaluated;
}

std::map<std::string, std::string> TranslationModel::Signatures() const {
  std::map<std::string, std::string> signatures;
  for (const EvaluationSet* set : data_.EvaluationSets()) {
    const std::string prefix = Prefix(set == &data_.dev ? "dev" : "test", *set);
    const auto add = [&](absl::string_view name, std::string signature) {
      signatures[absl::StrCat(prefix, name, set->suffix)] =
          std::move(signature);
    };
    add("bleu", BleuSignature(BleuTokenizerOf(*set)));
    add("chrf", ChrfSignature());
    if (set->references.empty()) continue;
    add("chrf++", ChrfSignature(kWithWordPairs));
    add("ter", TerSignature());
  }
  return signatures;
}

std::vector<const EvaluationSet*> TranslationModel::SetsOf(Split split) const {
  std::vector<const EvaluationSet*> sets = data_.EvaluationSets();
  std::erase_if(sets, [&](const EvaluationSet* set) {
    return (set == &data_.dev) != (split == Split::kDev);
  });
  return sets;
}

void TranslationModel::Evaluate(Forward<float>& forward, Split split,
                                std::vector<Measurement>* measurements) const {
  if (split != Split::kTrain) {
    for (const EvaluationSet* set : SetsOf(split)) {
      MeasureSet(forward, *set, measurements);
    }
  } else if (options_.num_steps > 0) {
    const TokenScores tokens = PredictTokens(forward, data_.train);
    measurements->push_back(
        {"d2l_loss", tokens.loss / static_cast<double>(tokens.count) /
                         static_cast<double>(options_.num_steps)});
  }
}

void TranslationModel::EvaluateExamples(Forward<float>& forward, Split split,
                                        std::vector<EvaluatedSet>* sets) const {
  if (split == Split::kTrain) return;
  for (const EvaluationSet* set : SetsOf(split)) {
    sets->push_back(TranslateSet(forward, *set));
  }
}

}  // namespace regard
