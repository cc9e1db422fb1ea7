#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "data/data_source.h"
#include "data/text/scored_pairs_source.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece.h"
#include "data/text/wordpiece_config.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "language/correlation.h"
#include "language/text_embedder.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr size_t kSamples = 10;

TokenVocabularyResult VocabularyOf(const WordPieceConfig& config,
                                   const ScoredPairSplits& data) {
  const WordPieceOptions options = TokenOptions(config);
  if (!data.vocabulary.empty()) {
    return {WordPiece::Parse(data.vocabulary, "", options).value()};
  }
  std::string texts;
  for (const ScoredPair& pair : data.train) {
    absl::StrAppend(&texts, pair.first, "\n", pair.second, "\n");
  }
  return ReadTokenVocabulary(config.vocabulary(), texts, options,
                             config.min_frequency());
}

class TextEmbeddingTask : public Task {
 public:
  using Options = TextEmbedderConfig;
  using Data = ScoredPairsData;

  static std::vector<MetricInfo> Metrics() {
    return {{"loss", "",
             "mean squared difference between similarities and gold scores",
             Better::kLower},
            {"spearman", "", "rank correlation of similarities and gold scores",
             Better::kHigher},
            {"pearson", "", "correlation of similarities and gold scores",
             Better::kHigher}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateTextEmbedder(options, context.scorers, problems);
  }

  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource&, const StoredFiles& kept,
                                  Data* data) {
    std::string& vocabulary = data->splits.vocabulary;
    REGARD_ASSIGN_OR_RETURN(vocabulary, kept.read(kVocabularyFile));
    return WordPiece::Parse(
               vocabulary, JoinPath(kept.folder, kVocabularyFile),
               TokenOptions(context.config.model().text_embedder().tokens()))
        .status();
  }

  TextEmbeddingTask(const Options& options, Data data,
                    const TaskContext& context)
      : Task(Metrics(), std::move(data.digests), std::move(data.notes)),
        smooths_labels_(context.config.loss().label_smoothing() > 0),
        vocabulary_(VocabularyOf(options.tokens(), data.splits)),
        model_(options, context.scorers, vocabulary_.pieces,
               std::move(data.splits), context.model_options()) {
    if (!vocabulary_.digest.empty()) {
      AddDigest("model.text_embedder.tokens.vocabulary", vocabulary_.digest);
    }
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return !model_.data().dev.empty(); }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return DevAndTestSizes(model_.data());
  }

  void ValidateData(ConfigProblems& problems) const override {
    if (smooths_labels_) {
      problems.Note("loss.label_smoothing",
                    "has no effect: similarities are not classes");
    }
    const ConfigProblems::Scope scope(problems, "model.text_embedder");
    if (!vocabulary_.problem.empty()) {
      problems.Add("tokens.vocabulary", vocabulary_.problem);
    }
    model_.ValidateData(problems);
  }

  Showcase Show(Forward<float>& forward, bool /*final*/) const override {
    Showcase showcase;
    showcase.summary = absl::StrCat(
        "Sentence embeddings: ", model_.num_examples(), " training pairs.");
    showcase.samples.title = "Pairs, their gold scores and their similarities";
    showcase.samples.input = "texts";
    const absl::Span<const ScoredPair> pairs = *ShownSplit(model_.data()).first;
    if (!pairs.empty()) {
      showcase.samples.rows =
          model_.Compare(forward, pairs.subspan(0, kSamples)).examples;
    }
    return showcase;
  }

  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits&) const override {
    return model_.Predict(forward, request);
  }
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const override {
    return model_.Trace(forward, request, options);
  }

  std::map<std::string, std::string> Files() const override {
    return {{kVocabularyFile, model_.pieces().ToText()}};
  }

 private:
  const bool smooths_labels_;
  const TokenVocabularyResult vocabulary_;
  SentenceEmbeddingModel model_;
};

}  // namespace

REGARD_PLUGINS(TextEmbedding) {
  plugins.tasks.Add<TextEmbeddingTask>("computes sentence embeddings");
  plugins.aggregates[kCorrelation.name] = &kCorrelation;
}

}  // namespace regard
