#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "attention/inspection/attention_maps.h"
#include "autodiff/tape.h"
#include "data/data_source.h"
#include "data/text/text_source.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/traced_maps.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "language/bert.h"
#include "language/bert_trace.h"
#include "language/masked_text.h"
#include "language/masked_word_model.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kSamples = 5;
constexpr size_t kMapTokens = 32;

class MaskedWordsTask : public Task {
 public:
  using Options = BertConfig;
  using Data = TextData;

  static std::vector<MetricInfo> Metrics() {
    return {{"loss", "nats per masked token", "cross-entropy", Better::kLower},
            {"unigram_loss", "nats per masked token",
             "cross-entropy of predicting words by their frequency in training",
             Better::kLower},
            {"token_accuracy", "",
             "fraction of masked tokens predicted correctly", Better::kHigher},
            {"next_sentence_loss", "nats per pair",
             "cross-entropy of predicting whether the second text follows the "
             "first",
             Better::kLower},
            {"next_sentence_accuracy", "",
             "fraction of pairs for which the model predicts correctly whether "
             "the second text follows the first",
             Better::kHigher}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateMaskedWordModel(options, context.scorers, problems);
  }

  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource&, const StoredFiles& kept,
                                  Data* data) {
    std::string& vocabulary = data->splits.vocabulary;
    REGARD_ASSIGN_OR_RETURN(vocabulary, kept.read(kVocabularyFile));
    return PiecesOf(vocabulary, JoinPath(kept.folder, kVocabularyFile),
                    context.config.model().bert())
        .status();
  }

  MaskedWordsTask(const Options& options, Data data, const TaskContext& context)
      : Task(Metrics(), std::move(data.digests), std::move(data.notes)),
        vocabulary_(
            data.splits.vocabulary.empty()
                ? ReadTokenVocabulary(options.masked_words().vocabulary(),
                                      data.splits.train,
                                      TokenOptions(options.masked_words()),
                                      options.masked_words().min_frequency())
                : TokenVocabularyResult{PiecesOf(data.splits.vocabulary, "",
                                                 options)
                                            .value()}),
        model_(options, context.scorers, vocabulary_.pieces, data.splits,
               context.model_options()) {
    if (!vocabulary_.digest.empty()) {
      AddDigest("model.bert.masked_words.vocabulary", vocabulary_.digest);
    }
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.has_dev(); }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return {{"dev", model_.dev().size()}, {"test", model_.test().size()}};
  }
  bool MeasuresOnDev(const std::string& metric) const override {
    return metric.starts_with("next_sentence_")
               ? model_.bert_config().masked_words().next_sentence()
               : model_.predicts_on_dev();
  }

  void ValidateData(ConfigProblems& problems) const override {
    if (!vocabulary_.problem.empty()) {
      problems.Add("model.bert.masked_words.vocabulary", vocabulary_.problem);
      return;
    }
    const ConfigProblems::Scope scope(problems, "model.bert");
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

  std::map<std::string, std::string> Files() const override {
    return {{kVocabularyFile, model_.pieces().ToText()}};
  }

 private:
  static absl::StatusOr<WordPiece> PiecesOf(const std::string& vocabulary,
                                            const std::string& path,
                                            const BertConfig& config) {
    return WordPiece::Parse(vocabulary, path,
                            TokenOptions(config.masked_words()));
  }

  const TokenVocabularyResult vocabulary_;
  MaskedWordModel model_;
};

Showcase MaskedWordsTask::Show(Forward<float>& forward, bool /*final*/) const {
  Showcase showcase;
  showcase.summary =
      absl::StrFormat("Masked words: %d training tokens, %d different.",
                      model_.train_ids().ids.size(), model_.pieces().size());
  showcase.samples.title = "Masked words";
  showcase.samples.input = "text";
  const MaskedText& text = model_.shown();
  std::vector<int64_t> examples;
  for (int64_t i = 0; i < std::min(kSamples, text.size()); ++i) {
    examples.push_back(text.size() * i / std::min(kSamples, text.size()));
  }
  std::erase_if(examples, [&](int64_t i) { return text.NumPredicted(i) == 0; });
  if (examples.empty()) return showcase;
  showcase.samples.rows = model_.Predict(forward, text, examples).examples;
  // Adds the self-attention of each layer.
  forward.BeginStep();
  const MaskedBatch batch =
      text.MakeBatch({examples[0]}, MaskedWordModel::EvaluationMasking(),
                     forward.tape().arena());
  const BertBatch first = {.size = 1,
                           .ids = batch.input.ids.subspan(0, kMapTokens),
                           .types = batch.input.types.subspan(0, kMapTokens)};
  const TraceDescription labels =
      BertTraceDescription(model_.pieces(), first.ids);
  const auto read = [&] { model_.bert()(forward, first); };
  for (const AttentionMap<float>& map :
       RecordAttentionMaps(forward, {kAllMaps}, read)) {
    LabelledMatrix matrix = WeightsOf(labels, map);
    absl::StrAppend(&matrix.title, ": ", model_.JoinTokens(first.ids));
    showcase.heat_maps.push_back(std::move(matrix));
  }
  return showcase;
}

}  // namespace

REGARD_PLUGINS(MaskedWords) {
  plugins.tasks.Add<MaskedWordsTask>("predicts masked words of a text");
}

}  // namespace regard
