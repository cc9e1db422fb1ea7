// Tests that a tiny model learns its sentences.
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention.pb.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/worker_pool.h"
#include "data/text/vocabulary.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "optimization/optimizers/adam.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

// Returns pairs of sentences. The target is the source in reverse order, with
// each word mapped to a target word. The first source word is unique to the
// pair.
std::vector<EncodedPair> Pairs() {
  const RandomStream random(9, "sources");
  uint64_t at = 0;
  std::vector<EncodedPair> pairs;
  for (int32_t i = 0; i < 8; ++i) {
    EncodedPair pair;
    pair.source.push_back(4 + i);
    const uint64_t length = random.UniformIntAt(at++, 7);
    for (uint64_t t = 0; t < length; ++t) {
      pair.source.push_back(
          4 + static_cast<int32_t>(random.UniformIntAt(at++, 16)));
    }
    for (size_t t = pair.source.size(); t-- > 0;) {
      pair.target.push_back(4 + (pair.source[t] - 4) % 12);
    }
    pair.source.push_back(Vocabulary::kEnd);
    pair.target.push_back(Vocabulary::kEnd);
    pairs.push_back(pair);
  }
  return pairs;
}

TEST(OverfitTest, ATinyModelLearnsItsSentences) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  EncoderDecoderConfig config;
  config.mutable_attention()->mutable_additive();
  config.mutable_encoder()->set_embedding(16);
  config.mutable_encoder()->set_hidden(24);
  config.mutable_decoder()->set_embedding(16);
  config.mutable_decoder()->set_hidden(24);
  ParameterStore<float> store;
  const EncoderDecoder<float> model = MakeModel<float>(
      config, scorers, {.source = 20, .target = 16}, store.Root());
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
    const double seeds[] = {1.0 / 8};
    loss = static_cast<double>(sums[0].item()) / 8;
    forward.Backward(sums, seeds);
    adam.Update({.learning_rate = 0.01, .gradient = gradients.values()}, pool);
  }
  EXPECT_LT(loss, 0.05);
  for (const EncodedPair& pair : pairs) {
    const std::vector<int32_t> expected(pair.target.begin(),
                                        pair.target.end() - 1);
    const auto found = TranslateIds({{&model, &forward}}, {pair.source},
                                    SearchConfig(), /*want_weights=*/false);
    EXPECT_EQ(found[0][0].ids, expected);
  }
}

}  // namespace
}  // namespace regard
