#include "tools/peers/embedding_work.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "attention/scorer_registry.h"
#include "attention/scoring/built_in_scores.h"
#include "attention/transformer/transformer.pb.h"
#include "data/text/wordpiece.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "language/sentence_embedder.h"
#include "nn/parameters.h"
#include "tools/peers/step_data.h"
#include "tools/peers/transformer_options.h"

namespace regard {

namespace {

constexpr uint64_t kSeed = 1;

BertConfig ModelOf(const WorkOptions& options) {
  BertConfig config;
  config.set_pooler(false);
  TransformerConfig& transformer = *config.mutable_transformer();
  transformer = TransformerOf(options);
  transformer.mutable_attention()->set_bias(true);
  transformer.mutable_initialization()->set_zero_bias(false);
  return config;
}

ScorerRegistry Scorers() {
  ScorerRegistry scorers;
  RegisterBuiltInScores(scorers);
  return scorers;
}

class EmbeddingWork : public TimedWork {
 public:
  explicit EmbeddingWork(const WorkOptions& options)
      : bert_(ModelOf(options), Scorers(), options.source_vocabulary,
              parameters_.Root()),
        // Sentences come as ids: no other token is ever looked up.
        pieces_(WordPiece::Create({"[PAD]", "[UNK]", "[CLS]", "[SEP]"},
                                  "tokens", WordPieceOptions())
                    .value()) {
    parameters_.Finalize(kSeed);
    const auto time = static_cast<size_t>(options.source_time);
    const std::vector<int32_t> ids = TextData(
        options.batch * options.source_time, options.source_vocabulary);
    for (size_t begin = 0; begin < ids.size(); begin += time) {
      const auto sentence = absl::MakeConstSpan(ids).subspan(begin, time);
      sentences_.emplace_back(sentence.begin(), sentence.end());
    }
    vectors_.resize(sentences_.size() * static_cast<size_t>(bert_.width()));
    embedder_ = std::make_unique<SentenceEmbedder>(
        bert_, parameters_, pieces_, bert_.longest_position(), options.threads);
  }

  const ParameterStore<float>& parameters() const override {
    return parameters_;
  }

  void Step() override {
    embedder_->EmbedIds(sentences_, absl::MakeSpan(vectors_));
  }

  std::vector<double> Check() override {
    Step();
    return {vectors_.end() - bert_.width(), vectors_.end()};
  }

 private:
  ParameterStore<float> parameters_;
  const Bert<float> bert_;
  const WordPiece pieces_;
  std::vector<std::vector<int32_t>> sentences_;
  std::vector<float> vectors_;
  std::unique_ptr<SentenceEmbedder> embedder_;
};

}  // namespace

std::unique_ptr<TimedWork> MakeEmbeddingWork(const WorkOptions& options) {
  return std::make_unique<EmbeddingWork>(options);
}

}  // namespace regard
