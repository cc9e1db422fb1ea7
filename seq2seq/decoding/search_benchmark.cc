// Benchmarks greedy search and a beam of 5 on one thread. Sentences are
// translated together or one at a time. Translations never end before their
// limit.
#include <cstdint>
#include <vector>

#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "benchmark/benchmark.h"
#include "data/text/vocabulary.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

// Bahdanau's model with random weights.
class RandomModel {
 public:
  RandomModel(int width, int32_t vocabulary) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    EncoderDecoderConfig config;
    config.mutable_attention()->mutable_additive();
    config.mutable_encoder()->set_embedding(width);
    config.mutable_encoder()->set_hidden(width);
    config.mutable_decoder()->set_embedding(width);
    config.mutable_decoder()->set_hidden(width);
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

// Arguments: sentences, beam, width, vocabulary. Each translation has 20 ids.
void Translations(benchmark::State& state) {
  constexpr int64_t kLength = 20;
  const auto vocabulary = static_cast<int32_t>(state.range(3));
  const RandomModel model(static_cast<int>(state.range(2)), vocabulary);
  const RandomStream random(2, "sentences");
  std::vector<std::vector<int32_t>> sources(state.range(0));
  uint64_t at = 0;
  for (auto& source : sources) {
    for (int64_t i = 0; i < kLength; ++i) {
      source.push_back(Vocabulary::kReserved +
                       static_cast<int32_t>(random.UniformIntAt(
                           at++, vocabulary - Vocabulary::kReserved)));
    }
  }
  SearchConfig search;
  search.set_beam(static_cast<int>(state.range(1)));
  search.set_max_length_ratio(1);
  search.set_max_length(0);
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), /*gradients=*/nullptr);
  for (auto unused : state) {
    benchmark::DoNotOptimize(TranslateIds({{&model.model(), &forward}}, sources,
                                          search, /*want_weights=*/true));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(Translations)
    ->ArgNames({"sentences", "beam", "width", "vocabulary"})
    ->Args({64, 1, 256, 8000})
    ->Args({1, 1, 256, 8000})
    ->Args({64, 5, 256, 8000})
    ->Args({1, 5, 256, 8000})
    ->Args({64, 1, 64, 200})
    ->Args({1, 1, 64, 200})
    ->Args({64, 5, 64, 200})
    ->Args({1, 5, 64, 200})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace regard

BENCHMARK_MAIN();
