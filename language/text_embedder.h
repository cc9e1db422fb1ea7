// A BERT that computes sentence embeddings, with its pairs of texts, for
// training and evaluation.
#ifndef LANGUAGE_TEXT_EMBEDDER_H_
#define LANGUAGE_TEXT_EMBEDDER_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "attention/attention_registry.h"
#include "attention/inspection/trace.h"
#include "autodiff/tape.h"
#include "data/text/text_splits.h"
#include "data/text/wordpiece.h"
#include "evaluation/prediction.h"
#include "language/bert.h"
#include "language/bert_model.h"
#include "language/text_embedder.pb.h"
#include "language/text_vectors.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

// Adds problems under paths relative to `config`.
void ValidateTextEmbedder(const TextEmbedderConfig& config,
                          const AttentionRegistry& scorers,
                          ConfigProblems& problems);

// Has the parameters of Bert.
class SentenceEmbeddingModel : public BertBasedModel {
 public:
  // `config` must have passed ValidateTextEmbedder(). If the model has fewer
  // than two positions, nothing is encoded. ValidateData() then reports a
  // problem, and no other function may be called.
  SentenceEmbeddingModel(const TextEmbedderConfig& config,
                         const AttentionRegistry& scorers, WordPiece pieces,
                         ScoredPairSplits data, const ModelOptions& options);

  // Adds problems where the config does not fit the data, under paths relative
  // to the config.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const override {
    return parameters_;
  }
  int64_t num_examples() const override {
    return static_cast<int64_t>(train_.size());
  }
  // Returns the length of the longer text, because both texts are in one batch.
  SequenceLengths Lengths(int64_t example) const override;
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // Computes the loss on dev and test, and Pearson's and Spearman's
  // correlations between the scores and the similarities.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // Computes the metrics of Evaluate() for at least one pair. The outputs are
  // similarities.
  EvaluatedSet Compare(Forward<float>& forward,
                       absl::Span<const ScoredPair> pairs) const;

  // Returns the embedding of a text. For two texts separated by a tab, or for
  // an example, returns their similarity. Examples are from test, or from dev
  // if there is no test set.
  absl::StatusOr<Prediction> Predict(Forward<float>& forward,
                                     const PredictionRequest& request) const;
  // Traces the pass over a text. For two texts, traces the pass over the first
  // text. The output is then the similarity, and the embedding of the second
  // text is constant.
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const;

  const Bert<float>& bert() const override { return bert_; }
  const BertConfig& bert_config() const override { return config_.bert(); }
  const WordPiece& pieces() const override { return pieces_; }
  int64_t longest() const override;
  VectorOptions vectors() const override {
    return {config_.pooling(), config_.normalize()};
  }
  const ScoredPairSplits& data() const { return data_; }

 private:
  struct Example {
    std::vector<int32_t> first;
    std::vector<int32_t> second;
    float score;
  };
  using TextOfRow = absl::FunctionRef<absl::Span<const int32_t>(int64_t row)>;

  struct EncodedInput {
    std::string input;
    std::string reference = {};
    std::vector<std::string> texts = {};  // one or two texts
  };

  std::vector<Example> Encode(absl::Span<const ScoredPair> pairs) const;
  absl::StatusOr<EncodedInput> Read(const PredictionRequest& request) const;
  // Returns the pooled outputs of each text, [texts, width], not normalized.
  Var<float> Pooled(Forward<float>& forward, int64_t texts,
                    TextOfRow text_of_row) const;
  // Pools the texts of examples, two successive rows per example.
  Var<float> Pooled(Forward<float>& forward, const std::vector<Example>& all,
                    absl::Span<const int64_t> examples) const;

  const TextEmbedderConfig config_;
  const WordPiece pieces_;
  const ScoredPairSplits data_;
  ParameterStore<float> parameters_;
  Bert<float> bert_;
  const std::vector<Example> train_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_EMBEDDER_H_
