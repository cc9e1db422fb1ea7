// Vectors of texts by BERT, as a trainer sees them.
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
#include "evaluation/answer.h"
#include "language/bert.h"
#include "language/bert_model.h"
#include "language/text_embedder.pb.h"
#include "language/text_vectors.h"
#include "nn/parameters.h"
#include "optimization/model.h"
#include "options/config_problems.h"

namespace regard {

// Paths are relative to `config`.
void ValidateTextEmbedder(const TextEmbedderConfig& config,
                          const AttentionRegistry& scorers,
                          ConfigProblems& problems);

// Parameters are those of Bert.
class TextEmbedder : public BertModel {
 public:
  // `config` has passed ValidateTextEmbedder(). If the model does not know the
  // positions of a text's two tokens at least, texts are not encoded:
  // ValidateData() says so, and nothing else may be called.
  TextEmbedder(const TextEmbedderConfig& config,
               const AttentionRegistry& scorers, WordPiece pieces,
               ScoredPairs data, const ModelOptions& options);

  // Adds what in the config does not fit, under paths relative to it.
  void ValidateData(ConfigProblems& problems) const;

  ParameterStore<float>& parameters() override { return parameters_; }
  const ParameterStore<float>& parameters() const override {
    return parameters_;
  }
  int64_t num_examples() const override {
    return static_cast<int64_t>(train_.size());
  }
  // Of the longer text, for both are of one batch.
  SequenceLengths Lengths(int64_t example) const override;
  void Loss(Forward<float>& forward, absl::Span<const int64_t> examples,
            absl::Span<const double> denominators,
            absl::Span<Var<float>> sums) const override;
  // On dev and test: loss, and the correlations of the numbers with the
  // similarities, Spearman's (of their ranks) and Pearson's.
  std::vector<EvaluatedSet> Evaluate(Forward<float>& forward,
                                     Split split) const override;

  // The same of these pairs, at least one; the outputs are similarities.
  EvaluatedSet Compare(Forward<float>& forward,
                       absl::Span<const ScoredPair> pairs) const;

  // The vector of a text; or the similarity of two that a tab separates, or of
  // an example of test, else of dev.
  absl::StatusOr<Answered> Answer(Forward<float>& forward,
                                  const Question& question) const;
  // The pass over a text. Of two, that over the first, and their similarity:
  // the vector of the second is held.
  absl::StatusOr<Traced<float>> Trace(Forward<float>& forward,
                                      const Question& question,
                                      const TraceOptions& options) const;

  const Bert<float>& bert() const override { return bert_; }
  const BertConfig& bert_config() const override { return config_.bert(); }
  const WordPiece& pieces() const override { return pieces_; }
  int64_t longest() const override;
  VectorOptions vectors() const override {
    return {config_.pooling(), config_.normalize()};
  }
  const ScoredPairs& data() const { return data_; }

 private:
  struct Example {
    std::vector<int32_t> first;
    std::vector<int32_t> second;
    float score;
  };
  using TextOfRow = absl::FunctionRef<absl::Span<const int32_t>(int64_t row)>;

  struct Asked {
    std::string input;
    std::string reference = {};
    std::vector<std::string> texts = {};  // one or two
  };

  std::vector<Example> Encode(absl::Span<const ScoredPair> pairs) const;
  absl::StatusOr<Asked> Read(const Question& question) const;
  // [texts, width]: the pooled outputs of each, not normalized.
  Var<float> Pooled(Forward<float>& forward, int64_t texts,
                    TextOfRow text_of_row) const;
  // The same of the texts of examples, two successive rows each.
  Var<float> Pooled(Forward<float>& forward, const std::vector<Example>& all,
                    absl::Span<const int64_t> examples) const;

  const TextEmbedderConfig config_;
  const WordPiece pieces_;
  const ScoredPairs data_;
  ParameterStore<float> parameters_;
  Bert<float> bert_;
  const std::vector<Example> train_;
};

}  // namespace regard

#endif  // LANGUAGE_TEXT_EMBEDDER_H_
