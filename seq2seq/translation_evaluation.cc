// Evaluation of a TranslationModel.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "data/parallel_corpus.h"
#include "data/sentence_pair.h"
#include "evaluation/batches.h"
#include "nn/forward.h"
#include "nn/hook.h"
#include "nn/scoped_hook.h"
#include "optimization/evaluated_set.h"
#include "optimization/model.h"
#include "seq2seq/decoder.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/memory_alignment.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/ter.h"
#include "seq2seq/output_head.h"
#include "seq2seq/translation_model.h"

namespace regard {

namespace {

constexpr int64_t kEvaluationBatch = 64;

constexpr int kWithWordPairs = 2;  // the word order of chrF++

constexpr char kScores[] = "scores";

// Returns the fraction of the alignment's heads whose key selection contains a
// source position: [sources, target positions, source positions]. Empty without
// a key selection.
std::vector<float> SelectedKeys(const SiteValueRecorder<float>& recorder,
                                const AlignmentChoice& choice) {
  std::vector<AttentionMap<float>> maps = AttentionMaps(recorder, kScores);
  for (AttentionMap<float>& map : maps) {
    // A key that the selection leaves out has the score -inf.
    for (float& score : map.weights) {
      score = score == -std::numeric_limits<float>::infinity() ? 0.0F : 1.0F;
    }
  }
  return MemoryAlignment<float>(maps, choice).weights;
}

BleuTokenizer BleuTokenizerOf(const EvaluationSet& set) {
  return set.references.empty() ? BleuTokenizer::kNone : BleuTokenizer::k13a;
}

}  // namespace

TokenScoreSums TranslationModel::ScoreTargetTokens(
    Forward<float>& forward, const ParallelCorpus& pairs) const {
  const EncoderDecoder<float>& model = translator_.model();
  TokenScoreSums sum;
  ForEachBatch(
      forward, pairs.size(), kEvaluationBatch,
      [&](Forward<float>& passes, absl::Span<const int64_t> examples) {
        const Batch batch = MakeBatch(pairs, examples, passes.tape().arena());
        return ScoreTokens(model.decoder->head(), passes,
                           model.Run(passes, batch), batch.target);
      },
      [&](auto, const TokenScoreSums& scores) { sum += scores; });
  return sum;
}

TranslationModel::AlignmentScores TranslationModel::ScoreAlignments(
    Forward<float>& forward, absl::Span<const SentencePair> pairs) const {
  const EncoderDecoder<float>& model = translator_.model();
  const AlignmentChoice choice = model.decoder->alignment();
  std::vector<std::string> sites = AlignmentSites(choice);
  if (selects_keys_) {
    for (std::string& site : AlignmentSites(choice, kScores)) {
      sites.push_back(std::move(site));
    }
  }
  const ParallelCorpus encoded = EncodePairs(pairs);
  struct Aligned {
    std::vector<AlignmentLink> links;
    int64_t gold = 0;
    double selected = 0;

    auto members() { return std::tie(links, gold, selected); }
  };
  const auto align =
      [&](Forward<float>& passes,
          absl::Span<const int64_t> examples) -> std::vector<Aligned> {
    const Batch batch = MakeBatch(encoded, examples, passes.tape().arena());
    SiteValueRecorder<float> recorder(sites);
    {
      const ScopedExtraHook<float> watch(passes, &recorder);
      model.Run(passes, batch);
    }
    const std::vector<float> weights =
        MemoryAlignment<float>(AttentionMaps(recorder), choice).weights;
    const std::vector<float> selected = SelectedKeys(recorder, choice);
    const int64_t columns = batch.source.time;
    const int64_t size = batch.input.time * columns;
    std::vector<Aligned> all;
    for (const int64_t example : examples) {
      const SentencePair& pair = pairs[example];
      const int64_t row = std::ssize(all);
      Aligned& aligned = all.emplace_back();
      if (pair.alignment.empty()) continue;
      // Sentences may be truncated to cut_tokens, so only words with an id are
      // aligned.
      const PairView ids = encoded[example];
      const auto targets =
          static_cast<int>(std::min(pair.target.size(), ids.target.size()));
      const auto sources =
          static_cast<int>(std::min(pair.source.size(), ids.source.size()));
      aligned.links =
          MaxWeightLinks(absl::MakeConstSpan(weights).subspan(row * size, size),
                         static_cast<int>(columns), targets, sources);
      for (const AlignmentLink& link : pair.alignment) {
        if (selected.empty() || link.target >= targets ||
            link.source >= sources) {
          continue;
        }
        ++aligned.gold;
        aligned.selected +=
            selected[row * size + link.target * columns + link.source];
      }
    }
    return all;
  };
  AlignmentScores sum;
  ForEachBatch(
      forward, encoded.size(), kEvaluationBatch, align,
      [&](absl::Span<const int64_t> examples, const std::vector<Aligned>& all) {
        for (size_t i = 0; i < examples.size(); ++i) {
          const auto& gold = pairs[examples[i]].alignment;
          if (!gold.empty()) sum.errors.Add(all[i].links, gold);
          sum.gold += all[i].gold;
          sum.selected += all[i].selected;
        }
      });
  return sum;
}

EvaluatedSet TranslationModel::EvaluateSet(Forward<float>& forward,
                                           const EvaluationSet& set) const {
  std::vector<std::vector<std::string>> sources;
  for (const SentencePair& pair : set.pairs) sources.push_back(pair.source);
  const std::vector<std::vector<Translation>> translations =
      translator_.Translate(forward, sources, search_,
                            /*want_weights=*/false);
  const bool raw = !set.references.empty();
  EvaluatedSet evaluated = {.set = set.name, .length_unit = "source tokens"};
  std::vector<MetricOverExamples>& metrics = evaluated.metrics;
  metrics = {{"bleu", &kBleu},
             {"chrf", &kChrf, /*of_single_examples=*/true},
             {"exact_match"}};
  if (raw) {
    metrics.push_back({"chrf++", &kChrfPlusPlus, /*of_single_examples=*/true});
    metrics.push_back({"ter", &kTer});
  }
  if (data_.cut_tokens > 0) metrics.push_back({"d2l_bleu_k2"});
  int64_t cut_outputs = 0;
  for (size_t i = 0; i < set.pairs.size(); ++i) {
    const SentencePair& pair = set.pairs[i];
    // An empty source has an empty translation, as in //tools:translate.
    std::vector<std::string> words;
    if (!pair.source.empty()) {
      words = translator_.Words(translations[i].front());
      if (translations[i].front().at_limit) ++cut_outputs;
    }
    const std::string output =
        raw ? translator_.TargetText(words) : absl::StrJoin(words, " ");
    const std::string reference =
        raw ? set.references[i] : absl::StrJoin(pair.target, " ");
    metrics[0].Add(BleuStatistics(output, {reference}, BleuTokenizerOf(set)));
    metrics[1].Add(ChrfStatistics(output, {reference}));
    metrics[2].Add({output == reference ? 1.0 : 0.0, 1.0});
    if (raw) {
      metrics[3].Add(ChrfStatistics(output, {reference}, kWithWordPairs));
      metrics[4].Add(TerStatistics(output, {reference}));
    }
    if (data_.cut_tokens > 0) {
      metrics.back().Add({D2lBleu(words, pair.target), 1.0});
    }
    evaluated.examples.push_back(
        {.input = translator_.SourceText(pair.source),
         .reference = reference,
         .output = output,
         .length = static_cast<int64_t>(pair.source.size())});
  }
  for (MetricOverExamples& metric : metrics) metric.name += set.suffix;
  const TokenScoreSums tokens =
      ScoreTargetTokens(forward, EncodePairs(set.pairs));
  const auto count = static_cast<double>(tokens.count);
  const auto add = [&](absl::string_view name, double value) {
    evaluated.totals[absl::StrCat(name, set.suffix)] = value;
  };
  add("cut_outputs", static_cast<double>(cut_outputs));
  add("loss", tokens.loss / count);
  add("perplexity", std::exp(tokens.loss / count));
  add("token_accuracy", static_cast<double>(tokens.correct) / count);
  const bool aligned = std::any_of(
      set.pairs.begin(), set.pairs.end(),
      [](const SentencePair& pair) { return !pair.alignment.empty(); });
  if (aligned && has_attention()) {
    const AlignmentScores alignments = ScoreAlignments(forward, set.pairs);
    add("alignment_error_rate", alignments.errors.Rate());
    if (alignments.gold > 0) {
      add("gold_selected",
          alignments.selected / static_cast<double>(alignments.gold));
    }
  }
  return evaluated;
}

std::map<std::string, std::string> TranslationModel::Signatures() const {
  std::map<std::string, std::string> signatures;
  const auto add_signatures = [&](const char* split, const EvaluationSet& set) {
    const auto add = [&](absl::string_view name, std::string signature) {
      signatures[absl::StrCat(split, set.name.empty() ? "" : ".", set.name, "/",
                              name, set.suffix)] = std::move(signature);
    };
    add("bleu", BleuSignature(BleuTokenizerOf(set)));
    add("chrf", ChrfSignature());
    if (set.references.empty()) return;
    add("chrf++", ChrfSignature(kWithWordPairs));
    add("ter", TerSignature());
  };
  for (const auto* set : EvaluationSetsOf(Split::kDev)) {
    add_signatures("dev", *set);
  }
  for (const auto* set : EvaluationSetsOf(Split::kTest)) {
    add_signatures("test", *set);
  }
  return signatures;
}

std::vector<const EvaluationSet*> TranslationModel::EvaluationSetsOf(
    Split split) const {
  std::vector<const EvaluationSet*> sets;
  if (split == Split::kDev && !data_.dev.empty()) sets.push_back(&data_.dev);
  if (split != Split::kTest) return sets;
  for (const EvaluationSet& test : data_.tests) {
    if (!test.empty()) sets.push_back(&test);
  }
  return sets;
}

std::vector<EvaluatedSet> TranslationModel::Evaluate(Forward<float>& forward,
                                                     Split split) const {
  std::vector<EvaluatedSet> evaluated;
  for (const EvaluationSet* set : EvaluationSetsOf(split)) {
    evaluated.push_back(EvaluateSet(forward, *set));
  }
  if (split == Split::kTrain && data_.cut_tokens > 0) {
    const TokenScoreSums tokens = ScoreTargetTokens(forward, train_);
    evaluated.push_back(
        {.totals = {
             {"d2l_loss", tokens.loss / static_cast<double>(tokens.count) /
                              static_cast<double>(data_.cut_tokens)}}});
  }
  return evaluated;
}

}  // namespace regard
