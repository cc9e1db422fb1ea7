// Tests the training of Transformers:
// * Sentences must be memorized.
// * Results must be bit-identical for any number of threads.
// * Dropout must not depend on shards.
// * After warm-up, a step must not allocate memory.
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "data/parallel_corpus.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/gradient_reducer.h"
#include "optimization/optimizers/adam.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

constexpr const char* kDropping =
    "transformer { width: 8 layers: 2 attention { heads: 2 attention { "
    "dropout: 0.2 } } feed_forward { dropout: 0.2 } dropout: 0.2 drop_path: "
    "0.3 }";

// Returns sources of several lengths with reversed targets.
std::vector<EncodedPair> Pairs() {
  std::vector<EncodedPair> pairs;
  for (int i = 0; i < 8; ++i) {
    EncodedPair pair;
    for (int t = 0; t < 2 + i % 3; ++t) {
      pair.source.push_back(4 + (3 * i + 2 * t * t + t) % 4);
    }
    pair.target.assign(pair.source.rbegin(), pair.source.rend());
    pair.source.push_back(Vocabulary::kEnd);
    pair.target.push_back(Vocabulary::kEnd);
    pairs.push_back(pair);
  }
  return pairs;
}

template <typename T>
Var<T> LossOf(const TestModel<T>& model, Forward<T>& forward,
              const ParallelCorpus& pairs, absl::Span<const int64_t> examples) {
  forward.tape().set_random({.seed = 3, .step = 7, .examples = examples});
  const Batch batch = MakeBatch(pairs, examples, forward.tape().arena());
  return model.head().Loss(forward, model->Run(forward, batch), batch.target,
                           /*label_smoothing=*/0.1);
}

TEST(TransformerTrainingTest, ATinyModelLearnsItsSentences) {
  for (const char* config :
       {"transformer { width: 16 layers: 2 attention { heads: 4 } }",
        "encoder { embedding: 16 hidden: 16 } transformer_decoder { width: 16 "
        "layers: 1 attention { heads: 2 } norm_order: POST }",
        "transformer { width: 16 layers: 2 attention { heads: 4 } } "
        "transformer_decoder { mixer { mamba2 { heads: 2 key_width: 8 } } }"}) {
    AttentionRegistry scorers;
    RegisterBuiltInScores(scorers);
    ParameterStore<float> store;
    const EncoderDecoder<float> model = MakeModel<float>(
        Parse<EncoderDecoderConfig>(config), scorers,
        {.source = kSourceWords, .target = kTargetWords}, store.Root());
    store.Finalize(1);
    GradientSlab<float> gradients(store);
    WorkerPool pool(1);
    Adam<float> adam({}, store);
    Tape<float> tape;
    Forward<float> forward(tape, store, &gradients);
    const std::vector<EncodedPair> pairs = Pairs();
    double loss = 0;
    for (int step = 0; step < 200; ++step) {
      forward.BeginStep();
      const Batch batch =
          MakeBatch(pairs, {0, 1, 2, 3, 4, 5, 6, 7}, tape.arena());
      const Var<float> sums[] = {model.decoder->head().Loss(
          forward, model.Run(forward, batch), batch.target,
          /*label_smoothing=*/0)};
      loss = static_cast<double>(sums[0].item()) / 8;
      forward.Backward(sums, {1.0 / 8});
      adam.Update({.learning_rate = 0.01, .gradient = gradients.values()},
                  pool);
    }
    EXPECT_LT(loss, 0.05) << config;
    for (const EncodedPair& pair : pairs) {
      const std::vector<int32_t> expected(pair.target.begin(),
                                          pair.target.end() - 1);
      const auto found = TranslateIds({{&model, &forward}}, {pair.source},
                                      SearchConfig(), /*want_weights=*/true);
      EXPECT_EQ(found[0][0].ids, expected) << config;
    }
  }
}

TEST(TransformerTrainingTest, ThreadsChangeNoBit) {
  for (const bool recompute : {false, true}) {
    auto config = Parse<EncoderDecoderConfig>(kDropping);
    config.mutable_transformer()->set_recompute(recompute);
    config.mutable_transformer_decoder()
        ->add_pattern()
        ->mutable_mixer()
        ->mutable_gated_linear()
        ->set_heads(2);
    config.mutable_transformer_decoder()->add_pattern();
    const TestModel<float> model(config);
    const ParallelCorpus pairs = CorpusOf(Pairs());
    std::vector<float> expected;
    for (int threads = 1; threads <= 8; ++threads) {
      WorkerPool pool(threads);
      constexpr int kShards = 4;
      GradientReducer<float> reducer(model.store(), kShards,
                                     /*accumulate_batches=*/1, pool);
      std::vector<std::unique_ptr<Tape<float>>> tapes;
      std::vector<std::unique_ptr<Forward<float>>> forwards;
      for (int i = 0; i < reducer.num_workers(); ++i) {
        tapes.push_back(std::make_unique<Tape<float>>());
        tapes.back()->set_training(true);
        forwards.push_back(std::make_unique<Forward<float>>(
            *tapes.back(), model.store(), nullptr));
      }
      reducer.AddBatch([&](int worker, int shard, GradientSlab<float>& slab) {
        Forward<float>& forward = *forwards[static_cast<size_t>(worker)];
        forward.set_gradients(&slab);
        forward.BeginStep();
        const int64_t examples[] = {2 * shard, 2 * shard + 1};
        const Var<float> sums[] = {LossOf(model, forward, pairs, examples)};
        forward.Backward(sums, {1.0});
      });
      const std::vector<float> got(reducer.gradient().begin(),
                                   reducer.gradient().end());
      if (threads == 1) expected = got;
      EXPECT_EQ(got, expected) << threads << " threads";
    }
  }
}

// Dropout must not depend on the shard that contains the example.
TEST(TransformerTrainingTest, DropoutAndDropPathFollowTheExample) {
  const TestModel<double> model(kDropping);
  const ParallelCorpus pairs = CorpusOf(Pairs());
  Tape<double> tape;
  tape.set_training(true);
  Forward<double> forward(tape, model.store(), nullptr);
  const auto loss = [&](const std::vector<int64_t>& examples) {
    forward.BeginStep();
    return LossOf(model, forward, pairs, examples).item();
  };
  const double all = loss({0, 1, 2, 3, 4, 5, 6, 7});
  double alone = 0;
  for (int64_t i = 0; i < 8; ++i) alone += loss({i});
  EXPECT_NEAR(alone, all, 1e-10 * all);
  EXPECT_NEAR(loss({5, 6, 7, 3}) + loss({0, 2, 1, 4}), all, 1e-10 * all);
  // Without dropout and DropPath, the loss must differ.
  tape.set_training(false);
  EXPECT_GT(std::abs(loss({0, 1, 2, 3, 4, 5, 6, 7}) - all), 1e-3);
}

TEST(TransformerTrainingTest, AWarmStepAllocatesNothing) {
  if (!CountsAllocations()) GTEST_SKIP() << "a sanitizer counts";
  for (const bool recompute : {false, true}) {
    auto config = Parse<EncoderDecoderConfig>(kDropping);
    config.mutable_transformer()->set_recompute(recompute);
    TestModel<float> model(config);
    const ParallelCorpus pairs = CorpusOf(Pairs());
    const int64_t examples[] = {0, 1, 2, 3, 4, 5, 6, 7};
    WorkerPool pool(1);
    GradientReducer<float> reducer(model.store(), /*num_shards=*/1,
                                   /*accumulate_batches=*/1, pool);
    Adam<float> adam({}, model.store());
    Tape<float> tape;
    tape.set_training(true);
    Forward<float> forward(tape, model.store(), nullptr);
    int64_t before = 0;
    for (int step = 0; step < 6; ++step) {
      if (step == 3) before = AllocationCount();
      reducer.AddBatch([&](int, int, GradientSlab<float>& slab) {
        forward.set_gradients(&slab);
        forward.BeginStep();
        const Var<float> sums[] = {LossOf(model, forward, pairs, examples)};
        const double seeds[] = {1};
        forward.Backward(sums, seeds);
      });
      adam.Update({.learning_rate = 1e-3, .gradient = reducer.gradient()},
                  pool);
    }
    EXPECT_EQ(AllocationCount() - before, 0) << recompute;
  }
}

}  // namespace
}  // namespace regard
