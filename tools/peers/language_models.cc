#include "tools/peers/language_models.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/transformer/transformer.pb.h"
#include "language/language_model.h"
#include "language/language_model.pb.h"
#include "language/text_model.h"
#include "language/text_vocabulary.h"
#include "nn/forward.h"
#include "nn/initialization.pb.h"
#include "nn/parameters.h"
#include "seq2seq/decoding/search.h"
#include "seq2seq/decoding/search.pb.h"
#include "third_party/abseil_backport/check.h"
#include "tools/peers/search_work.h"
#include "tools/peers/step_data.h"

namespace regard {

namespace {

constexpr uint64_t kSeed = 1;

// The model of nanoGPT for CPUs, without biases. The output is tied to the
// embedding.
LanguageModelConfig ModelOf(const WorkOptions& options) {
  LanguageModelConfig config;
  config.set_block(static_cast<int>(options.target_time));
  TransformerConfig& transformer = *config.mutable_transformer();
  transformer = TransformerOf(options);
  FeedForwardConfig& feed_forward = *transformer.mutable_feed_forward();
  feed_forward.set_activation(FeedForwardConfig::GELU);
  feed_forward.set_bias(false);
  transformer.mutable_norm()->set_bias(false);
  PositionEmbeddingConfig& positions =
      *transformer.mutable_position_embedding();
  positions.set_kind(PositionEmbeddingConfig::LEARNED);
  positions.set_longest(config.block());
  transformer.set_scale_embedding(false);
  transformer.set_tied_embeddings(TransformerConfig::TARGET_OUTPUT);
  TransformerInitialization& values = *transformer.mutable_initialization();
  values.set_weights(NORMAL);
  values.set_scale_residual(true);
  return config;
}

// Returns the character with this id. Ids are in the order of the characters.
char CharacterOf(int32_t id) { return static_cast<char>('!' + id); }

std::string Alphabet(const WorkOptions& options) {
  REGARD_CHECK(options.target_vocabulary <= '~' - '!' + 1)
      << options.target_vocabulary << " characters";
  std::string alphabet;
  for (int32_t id = 0; id < options.target_vocabulary; ++id) {
    alphabet.push_back(CharacterOf(id));
  }
  return alphabet;
}

class GreedyGeneration : public SearchedModel {
 public:
  explicit GreedyGeneration(const WorkOptions& options)
      : model_(ModelOf(options), BuiltInScorers(),
               TextVocabulary::Of(Alphabet(options), ModelOf(options)), kSeed),
        prompts_(TextData(options.batch, options.target_vocabulary)) {
    for (const int32_t& id : prompts_) {
      sources_.push_back(
          {.max_length = options.target_time, .prompt = {&id, 1}});
    }
  }

  ParameterStore<float>& parameters() override { return model_.parameters(); }

  std::vector<std::vector<Hypothesis>> FindHypotheses(
      Forward<float>& forward, size_t begin, size_t end) const override {
    const size_t count = end - begin;
    const EnsembleMember member = {&model_.decoder(), &forward};
    return Search(
        {.members = absl::MakeConstSpan(&member, 1),
         .sources = absl::MakeConstSpan(sources_).subspan(begin, count),
         .want_weights = false},
        SearchConfig());
  }

 private:
  LanguageModel model_;
  const std::vector<int32_t> prompts_;
  std::vector<SourceSearchInputs> sources_;
};

}  // namespace

std::unique_ptr<Model<float>> MakeTextModel(const WorkOptions& options) {
  TextSplits text;
  for (const int32_t id : TextData(options.batch * options.target_time + 1,
                                   options.target_vocabulary)) {
    text.train.push_back(CharacterOf(id));
  }
  // Never evaluated. Contains all characters, so that the vocabulary is
  // complete.
  text.dev = Alphabet(options);
  ModelOptions training;
  training.seed = kSeed;
  return std::make_unique<TrainableLanguageModel>(
      ModelOf(options), BuiltInScorers(), text, training);
}

std::unique_ptr<TimedWork> MakeGenerationWork(const WorkOptions& options) {
  return std::make_unique<SearchWork>(
      std::make_unique<GreedyGeneration>(options), options.batch,
      options.threads);
}

}  // namespace regard
