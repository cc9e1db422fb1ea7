// Tests searches with Transformers that have a memory or are language models.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "autodiff/ops/softmax.h"
#include "autodiff/tape.h"
#include "data/text/vocabulary.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "seq2seq/decoder_state.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/memory.h"
#include "seq2seq/testing/encoded_pair.h"
#include "seq2seq/testing/test_model.h"
#include "seq2seq/transformer_decoder.h"
#include "seq2seq/translator.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

using Ids = std::vector<int32_t>;

constexpr const char* kEveryKind[] = {
    "transformer { width: 8 layers: 2 attention { heads: 2 } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 key_heads: 1 "
    "attention { position_encoding { rotary {} } window: 3 } } norm_order: "
    "POST tied_embeddings: TARGET_OUTPUT }",
    "encoder { embedding: 4 hidden: 5 } transformer_decoder { width: 8 layers: "
    "2 attention { heads: 2 attention { additive { width: 3 } } } }",
    "transformer { width: 8 layers: 2 attention { heads: 4 value_heads: 1 "
    "value_width: 3 head_output { differential {} } attention { sink {} } } "
    "cross_attention { "
    "head_output { gate {} } } pattern {} pattern { attention { head_output { "
    "norm {} } } } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 query_key_norm {} "
    "attention { normalizer { scalable_softmax {} } map_before { "
    "talking_heads {} } map_after { talking_heads {} } } } cross_attention { "
    "attention { map_before { top_k { keys: 2 } } map_after { none {} } } } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 } } "
    "transformer_decoder { attention { latent { rank: 3 } attention { forget "
    "{} } } pattern {} pattern { attention { latent { form: ABSORBED } } } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 latent { rank: 3 "
    "query_rank: 5 } } pattern {} pattern { attention { latent { form: "
    "ABSORBED rotary_width: 0 } } cross_attention { latent { form: ABSORBED } "
    "} } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 } } "
    "transformer_decoder { mixer { gated_linear { heads: 2 } } pattern {} "
    "pattern { mixer { attention {} } } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 } } "
    "transformer_decoder { mixer { retention { heads: 2 } } pattern {} "
    "pattern { mixer { linear_attention { heads: 2 } } } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 } } "
    "transformer_decoder { attention { attention { forget {} } } pattern {} "
    "pattern { attention { key_heads: 1 attention { additive { width: 3 } "
    "forget { bias: 2 } } } } }",
    "transformer { width: 8 layers: 2 attention { heads: 2 } } "
    "transformer_decoder { mixer { delta_net { heads: 2 } } pattern {} "
    "pattern { mixer { mamba2 { heads: 2 key_width: 3 convolution {} } } } }",
};

const std::vector<Ids> kSources = {
    {4, 5, 6, 3}, {8, 3}, {7, 4, 7, 4, 5, 3}, {3}, {5, 5, 8, 3}};

// Returns the log-probability of the ids, and of <eos> if the translation is
// finished. Computes it in one pass over all words.
double LogProbability(const TestModel<float>& model, Forward<float>& forward,
                      const Ids& source, const Translation& translation) {
  EncodedPair pair = {source, translation.ids};
  if (translation.finished) pair.target.push_back(Vocabulary::kEnd);
  forward.BeginStep();
  const Batch batch =
      MakeBatch(absl::MakeConstSpan(&pair, 1), {0}, forward.tape().arena());
  const Var<float> probabilities =
      LogSoftmax(model.head().Logits(forward, model->Run(forward, batch)));
  double sum = 0;
  for (size_t t = 0; t < pair.target.size(); ++t) {
    sum += static_cast<double>(
        probabilities.at(static_cast<int64_t>(t), pair.target[t]));
  }
  return sum;
}

class TransformerSearchTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(EveryKind, TransformerSearchTest,
                         ::testing::ValuesIn(kEveryKind));

TEST_P(TransformerSearchTest, BeamsHaveTheScoresOfAPassWithoutACache) {
  TestModel<float> model(GetParam());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  for (const bool want_weights : {false, true}) {
    SearchConfig config;
    config.set_beam(4);
    config.set_n_best(3);
    config.set_max_length(9);
    const auto found =
        TranslateIds({{&*model, &forward}}, kSources, config, want_weights);
    for (size_t i = 0; i < kSources.size(); ++i) {
      for (const Translation& translation : found[i]) {
        const double want =
            LogProbability(model, forward, kSources[i], translation);
        EXPECT_NEAR(translation.log_probability, want,
                    1e-5 * (1 + std::abs(want)));
        EXPECT_EQ(translation.weights.size(),
                  want_weights
                      ? kSources[i].size() *
                            static_cast<size_t>(translation.num_choices())
                      : 0);
      }
    }
  }
}

TEST_P(TransformerSearchTest, ASourceDoesNotDependOnTheOthers) {
  TestModel<float> model(GetParam());
  Tape<float> tape;
  Forward<float> forward(tape, model.store(), nullptr);
  for (const int beam : {1, 3}) {
    SearchConfig config;
    config.set_beam(beam);
    const auto together =
        TranslateIds({{&*model, &forward}}, kSources, config, true);
    for (size_t i = 0; i < kSources.size(); ++i) {
      const auto alone =
          TranslateIds({{&*model, &forward}}, {kSources[i]}, config, true);
      EXPECT_EQ(alone[0][0].ids, together[i][0].ids);
      EXPECT_EQ(alone[0][0].log_probability, together[i][0].log_probability);
      EXPECT_EQ(alone[0][0].weights, together[i][0].weights);
    }
  }
}

// A decoder that records the ranks of the memory's keys and values.
class RanksOfMemory : public TransformerDecoder<float> {
 public:
  using TransformerDecoder::TransformerDecoder;

  DecoderState<float> Begin(Forward<float>& forward,
                            const Memory<float>& memory) const override {
    DecoderState<float> state = TransformerDecoder::Begin(forward, memory);
    ranks.clear();
    for (const auto& slot : state.slots()) {
      if (slot.value.has_value()) ranks.push_back(slot.value.shape().rank());
    }
    return state;
  }

  mutable std::vector<int> ranks;
};

// If a search returns weights, Begin() must split the memory into heads only in
// the layer that serves as the alignment. The steps must not split it again.
TEST(TransformerAlignmentTest, OnlySplitsTheMemoryOfItsLayer) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ParameterStore<float> store;
  const RanksOfMemory decoder(
      Parse<TransformerConfig>("width: 8 layers: 2 attention { heads: 2 } "
                               "cross_attention { heads: 4 }"),
      scorers, {.memory_width = 8, .vocabulary = 6}, store.Root());
  store.Finalize(1);
  for (float& value : store.values()) value *= 3;
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  const std::vector<int32_t> lengths = {5, 2};
  const EnsembleMember member = {
      &decoder, &forward, [&](Forward<float>&) {
        const Var<float> values = tape.Constant({2, 5, 8});
        for (int64_t i = 0; i < values.size(); ++i) {
          values.data()[i] = std::sin(static_cast<float>(i * i));
        }
        return Memory<float>{
            .sources = 2, .values = values, .lengths = lengths};
      }};
  const std::vector<SourceSearchInputs> sources(2, {.max_length = 6});
  SearchConfig config;
  config.set_beam(3);
  const auto search = [&](bool want_weights) {
    return Search({.members = absl::MakeConstSpan(&member, 1),
                   .sources = sources,
                   .want_weights = want_weights},
                  config);
  };
  const auto without = search(false);
  EXPECT_THAT(decoder.ranks, ElementsAre(3, 3, 3, 3));
  const auto with = search(true);
  EXPECT_THAT(decoder.ranks, ElementsAre(3, 3, 4, 4));
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(with[i][0].ids, without[i][0].ids);
    EXPECT_EQ(with[i][0].log_probability, without[i][0].log_probability);
    EXPECT_EQ(with[i][0].weights.size(),
              static_cast<size_t>(with[i][0].num_choices() * lengths[i]));
  }
}

// The decoder has no memory and no special ids, and continues prompts.
TEST(TransformerLanguageModelTest, ContinuesAPrompt) {
  AttentionRegistry scorers;
  RegisterBuiltInScores(scorers);
  ParameterStore<float> store;
  const TransformerDecoder<float> decoder(
      Parse<TransformerConfig>(
          "width: 8 layers: 2 attention { heads: 2 } position_embedding { "
          "kind: LEARNED longest: 12 } tied_embeddings: TARGET_OUTPUT"),
      scorers,
      {.vocabulary = 6, .special_ids = {.begin = -1, .end = -1, .pad = -1}},
      store.Root());
  store.Finalize(1);
  for (float& value : store.values()) value *= 20;
  EXPECT_FALSE(decoder.attends_to_memory());
  EXPECT_EQ(decoder.longest_position(), 12);
  Tape<float> tape;
  Forward<float> forward(tape, store, nullptr);
  const std::vector<EnsembleMember> members = {
      {&decoder, &forward,
       [](Forward<float>&) { return Memory<float>{.sources = 2}; }}};
  const Ids prompts[] = {{0, 1, 2}, {5, 4, 3}};
  const std::vector<SourceSearchInputs> sources = {
      {.max_length = 20, .prompt = prompts[0]},
      {.max_length = 4, .prompt = prompts[1]}};
  SearchConfig config;
  const auto found = Search({.members = members, .sources = sources}, config);
  // The search reads ids up to the last position. The last chosen id is not
  // read.
  EXPECT_EQ(found[0][0].ids.size(), 10);
  EXPECT_EQ(found[1][0].ids.size(), 4);
  // In one pass over the whole text, each id must be the likeliest after the
  // ids before it.
  forward.BeginStep();
  Ids text = {0, 1, 2};
  text.insert(text.end(), found[0][0].ids.begin(), found[0][0].ids.end() - 1);
  DecoderState<float> state = decoder.Begin(forward, {.sources = 1});
  const Var<float> logits = decoder.head().Logits(
      forward, decoder.Advance(forward, text, {}, &state));
  double sum = 0;
  const Var<float> probabilities = LogSoftmax(logits);
  for (size_t t = 0; t < found[0][0].ids.size(); ++t) {
    const int32_t id = found[0][0].ids[t];
    const auto row = static_cast<int64_t>(t) + 2;
    for (int64_t other = 0; other < logits.cols(); ++other) {
      EXPECT_LE(logits.at(row, other), logits.at(row, id)) << "choice " << t;
    }
    sum += static_cast<double>(probabilities.at(row, id));
  }
  EXPECT_NEAR(found[0][0].log_probability, sum, 1e-5 * (1 - sum));
}

}  // namespace
}  // namespace regard
