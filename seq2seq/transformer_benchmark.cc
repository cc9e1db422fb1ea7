// Benchmarks Transformers on one thread:
// * A training step: forward and backward pass, without the optimizer.
// * Greedy search with its cache.
// * A language model that continues a long text. It attends to all keys or to a
//   selection of them, or has linear attention.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/mixers/mixer.pb.h"
#include "attention/multi_head.pb.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/selections/selection.pb.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"
#include "data/parallel_corpus.h"
#include "data/text/vocabulary.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/transformer_decoder.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

// Returns pairs of sequences with `length` ids each. The last id is <eos>.
std::vector<EncodedPair> RandomPairs(int64_t count, int64_t length,
                                     int32_t vocabulary) {
  const RandomStream random(2, "sentences");
  std::vector<EncodedPair> pairs(static_cast<size_t>(count));
  uint64_t at = 0;
  for (EncodedPair& pair : pairs) {
    for (auto* const ids : {&pair.source, &pair.target}) {
      for (int64_t i = 0; i + 1 < length; ++i) {
        ids->push_back(Vocabulary::kReserved +
                       static_cast<int32_t>(random.UniformIntAt(
                           at++, vocabulary - Vocabulary::kReserved)));
      }
      ids->push_back(Vocabulary::kEnd);
    }
  }
  return pairs;
}

// A model with random weights and the same number of layers in encoder and
// decoder.
class RandomModel {
 public:
  RandomModel(int width, int layers, int heads, int32_t vocabulary,
              double dropout) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    EncoderDecoderConfig config;
    TransformerConfig& transformer = *config.mutable_transformer();
    transformer.set_width(width);
    transformer.set_layers(layers);
    transformer.mutable_attention()->set_heads(heads);
    transformer.mutable_feed_forward()->set_hidden(2 * width);
    transformer.set_norm_order(TransformerConfig::POST);
    transformer.set_dropout(dropout);
    model_ = MakeModel<float>(config, scorers,
                              {.source = vocabulary, .target = vocabulary},
                              store_.Root());
    store_.Finalize(1);
    store_.value(*store_.FindByName("decoder.output.bias"))[Vocabulary::kEnd] =
        -1e4f;
  }

  const EncoderDecoder<float>& model() const { return model_; }
  const ParameterStore<float>& store() const { return store_; }

 private:
  ParameterStore<float> store_;
  EncoderDecoder<float> model_;
};

void Step(benchmark::State& state) {
  const int64_t batch_size = state.range(3);
  const auto vocabulary = static_cast<int32_t>(state.range(5));
  const RandomModel model(static_cast<int>(state.range(0)),
                          static_cast<int>(state.range(1)),
                          static_cast<int>(state.range(2)), vocabulary,
                          static_cast<double>(state.range(6)) / 100);
  const ParallelCorpus pairs =
      CorpusOf(RandomPairs(batch_size, state.range(4), vocabulary));
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < batch_size; ++i) examples.push_back(i);
  GradientSlab<float> gradients(model.store());
  Tape<float> tape;
  tape.set_training(true);
  Forward<float> forward(tape, model.store(), &gradients);
  for (auto unused : state) {
    forward.BeginStep();
    const Batch batch = MakeBatch(pairs, examples, tape.arena());
    const Var<float> sums[] = {model.model().decoder->head().Loss(
        forward, model.model().Run(forward, batch), batch.target,
        /*label_smoothing=*/0)};
    const double seeds[] = {1.0 / static_cast<double>(batch_size)};
    forward.Backward(sums, seeds);
  }
  state.SetItemsProcessed(state.iterations() * batch_size * state.range(4));
}

BENCHMARK(Step)
    ->ArgNames({"width", "layers", "heads", "batch", "time", "vocabulary",
                "dropout"})
    ->Args({256, 3, 8, 64, 20, 8000, 0})
    ->Args({256, 3, 8, 64, 20, 8000, 10})
    ->Args({32, 2, 4, 64, 10, 200, 0})
    ->Args({32, 2, 4, 64, 10, 200, 10})
    ->Unit(benchmark::kMillisecond);

void GreedySearch(benchmark::State& state) {
  const auto vocabulary = static_cast<int32_t>(state.range(4));
  const RandomModel model(static_cast<int>(state.range(0)),
                          static_cast<int>(state.range(1)),
                          static_cast<int>(state.range(2)), vocabulary,
                          /*dropout=*/0);
  std::vector<std::vector<int32_t>> sources;
  for (const EncodedPair& pair : RandomPairs(state.range(3), 20, vocabulary)) {
    sources.push_back(pair.source);
  }
  SearchConfig search;
  search.set_max_length_ratio(1);
  search.set_max_length(0);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), /*gradients=*/nullptr);
  const bool want_weights = state.range(5) != 0;
  for (auto unused : state) {
    benchmark::DoNotOptimize(TranslateIds({{&model.model(), &forward}}, sources,
                                          search, want_weights));
  }
  state.SetItemsProcessed(state.iterations() * state.range(3));
}

BENCHMARK(GreedySearch)
    ->ArgNames({"width", "layers", "heads", "sentences", "vocabulary",
                "alignment"})
    ->Args({256, 3, 8, 64, 8000, 0})
    ->Args({256, 3, 8, 64, 8000, 1})
    ->Args({256, 3, 8, 1, 8000, 0})
    ->Args({32, 2, 4, 1, 200, 0})
    ->Unit(benchmark::kMillisecond);

// The mechanism with which the layers of a language model read earlier
// positions.
enum class Way { kAttention, kMoba, kNsaBlocks, kLinear };

struct NamedWay {
  Way way;
  const char* counter;
};
constexpr NamedWay kWays[] = {{Way::kAttention, "attention_tokens_per_s"},
                              {Way::kMoba, "moba_tokens_per_s"},
                              {Way::kNsaBlocks, "nsa_blocks_tokens_per_s"},
                              {Way::kLinear, "linear_tokens_per_s"}};

// A language model with random weights, whose layers have attention or a state
// mixer of the same widths.
class RandomLanguageModel {
 public:
  static constexpr int kVocabulary = 64;

  RandomLanguageModel(int width, int layers, int heads, Way way)
      : decoder_(Config(width, layers, heads, way), Scorers(),
                 {.vocabulary = kVocabulary,
                  .special_ids = {.begin = -1, .end = -1, .pad = -1}},
                 store_.Root()) {
    store_.Finalize(1);
    forward_.emplace(tape_, store_, /*gradients=*/nullptr);
  }

  // Generates `steps` ids in each of `rows` texts. Before that, each text reads
  // a prompt of `context` ids and generates one id. Returns the time of the
  // `steps` ids, in seconds.
  double Seconds(int64_t context, size_t rows, int64_t steps) {
    using Clock = std::chrono::steady_clock;
    const RandomStream random(3, "text");
    std::vector<int32_t> prompt;
    for (int64_t i = 0; i < context; ++i) {
      prompt.push_back(static_cast<int32_t>(
          random.UniformIntAt(static_cast<uint64_t>(i), kVocabulary)));
    }
    const std::vector<SourceSearchInputs> sources(
        rows, {.max_length = steps + 1, .prompt = prompt});
    const EnsembleMember member = {&decoder_, &*forward_};
    size_t choices = 0;
    Clock::time_point first;
    Clock::time_point last;
    Search({.members = absl::MakeConstSpan(&member, 1),
            .sources = sources,
            .want_weights = false,
            .cut = true,
            .on_choice =
                [&](size_t, int32_t) {
                  last = Clock::now();
                  if (++choices == rows) first = last;
                  return true;
                }},
           SearchConfig());
    return std::chrono::duration<double>(last - first).count();
  }

 private:
  static TransformerConfig Config(int width, int layers, int heads, Way way) {
    TransformerConfig config;
    config.set_width(width);
    config.set_layers(layers);
    config.mutable_attention()->set_heads(heads);
    if (way == Way::kLinear) {
      config.mutable_mixer()->mutable_linear_attention()->set_heads(heads);
    } else if (way != Way::kAttention) {
      KeySelectionConfig& selection =
          *config.mutable_attention()->mutable_attention()->mutable_selection();
      if (way == Way::kMoba) selection.mutable_moba();
      if (way == Way::kNsaBlocks) selection.mutable_nsa_blocks();
    }
    return config;
  }
  static AttentionRegistry Scorers() {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    return scorers;
  }

  ParameterStore<float> store_;
  TransformerDecoder<float> decoder_;
  Tape<float> tape_;
  std::optional<Forward<float>> forward_;
};

// The models run in turn, so that the state of the machine affects all of them
// equally. The reported time is the time of linear attention.
void Decoding(benchmark::State& state) {
  constexpr int64_t kSteps = 32;
  std::vector<std::unique_ptr<RandomLanguageModel>> models;
  for (const NamedWay& named : kWays) {
    models.push_back(std::make_unique<RandomLanguageModel>(
        static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
        static_cast<int>(state.range(2)), named.way));
  }
  const auto rows = static_cast<size_t>(state.range(4));
  std::vector<double> seconds(models.size());
  double ids = 0;
  for (auto unused : state) {
    for (size_t i = 0; i < models.size(); ++i) {
      const double of_model = models[i]->Seconds(state.range(3), rows, kSteps);
      seconds[i] += of_model;
      if (kWays[i].way == Way::kLinear) state.SetIterationTime(of_model);
    }
    ids += static_cast<double>(kSteps) * static_cast<double>(rows);
  }
  for (size_t i = 0; i < models.size(); ++i) {
    state.counters[kWays[i].counter] = ids / seconds[i];
  }
}

BENCHMARK(Decoding)
    ->ArgNames({"width", "layers", "heads", "context", "rows"})
    ->Args({256, 2, 8, 512, 1})
    ->Args({256, 2, 8, 4096, 1})
    ->Args({256, 2, 8, 4096, 4})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace regard

BENCHMARK_MAIN();
