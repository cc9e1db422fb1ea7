#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "data/labelled_tokens_source.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/traced_maps.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "language/token_classifier.h"
#include "options/config_problems.h"

namespace regard {

namespace {

constexpr size_t kSamples = 10;

class TokenClassificationTask : public Task {
 public:
  using Options = TokenClassifierConfig;
  using Data = LabelledTokenSplits;

  static std::vector<MetricInfo> Metrics() {
    return {{"accuracy", "", "fraction of labels that are predicted correctly",
             Better::kHigher},
            {"loss", "nats per label", "cross-entropy", Better::kLower,
             /*logarithmic=*/true}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateTokenClassifier(options, context.scorers, problems);
  }

  TokenClassificationTask(const Options& options, Data data,
                          const TaskContext& context)
      : Task(Metrics()),
        model_(options, context.scorers, std::move(data),
               context.model_options()) {}

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return !model_.data().dev.empty(); }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return DevAndTestSizes(model_.data());
  }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.token_classifier");
    model_.ValidateData(problems);
  }

  Showcase Show(Forward<float>& forward, bool final) const override;
  absl::StatusOr<Prediction> Predict(
      Forward<float>& forward, const PredictionRequest& request,
      const PredictionOutputLimits& options) const override {
    return model_.Predict(forward, request, options);
  }
  absl::StatusOr<TraceablePrediction<float>> Trace(
      Forward<float>& forward, const PredictionRequest& request,
      const TraceOptions& options) const override {
    return model_.Trace(forward, request, options);
  }

 private:
  TokenClassifier model_;
};

Showcase TokenClassificationTask::Show(Forward<float>& forward,
                                       bool /*final*/) const {
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Labels of tokens: %d training sequences, %d different tokens.",
      model_.num_examples(), model_.data().vocabulary);
  showcase.samples.title = "Sequences, their labels and the predicted labels";
  showcase.samples.input = "tokens";
  const absl::Span<const LabelledSequence> sequences =
      *ShownSplit(model_.data()).first;
  if (sequences.empty()) return showcase;
  showcase.samples.rows =
      model_.Classify(forward, sequences.subspan(0, kSamples)).examples;
  if (model_.data().dev.empty() && model_.data().test.empty()) return showcase;
  const auto traced = model_.Trace(forward, {.example = 0}, {});
  if (!traced.ok()) return showcase;  // the sequence is too long to draw
  forward.BeginStep();
  const auto read = [&] { traced->pass(forward); };
  for (const AttentionMap<float>& map :
       RecordAttentionMaps(forward, {kAllMaps}, read)) {
    showcase.heat_maps.push_back(WeightsOf(traced->labels, map));
  }
  return showcase;
}

}  // namespace

REGARD_PLUGINS(TokenClassification) {
  plugins.tasks.Add<TokenClassificationTask>("predicts labels of tokens");
}

}  // namespace regard
