#include "experiments/tasks/text_classification/text_classification_task.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "experiments/run/checkpoint.h"
#include "experiments/run/file.h"
#include "experiments/run/safetensors.h"
#include "experiments/tasks/masked_words/token_vocabulary.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/text_classification/labelled_text_source.h"
#include "language/text_classifier.h"
#include "nn/config_problems.h"
#include "nn/parameters.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kSamples = 10;

// Fills all parameters but the classifier's, and a pooler that the run has not,
// from the newest checkpoint of a run. All that does not fit is said at once.
absl::Status LoadPretrained(const std::string& run,
                            ParameterStore<float>& parameters) {
  REGARD_ASSIGN_OR_RETURN(const LatestCheckpoint latest,
                          FindLatestCheckpoint(run));
  if (!latest.checkpoint.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(run, " has no whole checkpoint"));
  }
  REGARD_ASSIGN_OR_RETURN(
      const SafetensorsReader reader,
      SafetensorsReader::Open(latest.checkpoint->WeightsPath()));
  std::vector<std::string> problems;
  for (const ParameterInfo& info : parameters.parameters()) {
    if (absl::StartsWith(info.name, "classifier.")) continue;
    if (absl::StartsWith(info.name, "pooler.") &&
        reader.header().tensors.count(info.name) == 0) {
      continue;
    }
    std::vector<int64_t> shape;
    for (int i = 0; i < info.shape.rank(); ++i) shape.push_back(info.shape[i]);
    const absl::Status status = reader.Read(
        info.name, shape, parameters.value(*parameters.FindByName(info.name)));
    if (!status.ok()) problems.emplace_back(status.message());
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n  "));
}

std::string AllText(const std::vector<LabelledText>& texts) {
  std::string all;
  for (const LabelledText& text : texts) absl::StrAppend(&all, text.text, "\n");
  return all;
}

// The file of the vocabulary: that of the run, or that of the config.
std::string VocabularyPath(const TextClassifierConfig& config) {
  return !config.pretrained().empty()
             ? JoinPath(config.pretrained(), kVocabularyFile)
             : config.bert().masked_words().vocabulary();
}

class TextClassificationTask : public Task {
 public:
  using Options = TextClassifierConfig;
  using Data = LabelledTextData;

  static std::vector<MetricInfo> Metrics() {
    return {{"loss", "nats per text", "cross-entropy", Better::kLower},
            {"accuracy", "", "share of texts whose class is right",
             Better::kHigher}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateTextClassifier(options, context.scorers, problems);
  }

  TextClassificationTask(const Options& options, Data data,
                         const TaskContext& context)
      : Task(Metrics()),
        data_(std::move(data)),
        vocabulary_(ReadTokenVocabulary(options.bert().masked_words(),
                                        VocabularyPath(options),
                                        AllText(data_.splits.train))),
        model_(options, context.scorers, vocabulary_.pieces, data_.splits,
               {.loss = LossOptionsOf(context.config.loss()),
                .seed = context.config.seed()}) {
    path_ = !options.pretrained().empty()
                ? "model.text_classifier.pretrained"
                : "model.text_classifier.bert.masked_words.vocabulary";
    problem_ = vocabulary_.problem;
    if (!vocabulary_.digest.empty()) data_.digests[path_] = vocabulary_.digest;
    if (options.pretrained().empty() || !problem_.empty()) return;
    problem_ = std::string(LoadPretrained(ResolveUserPath(options.pretrained()),
                                          model_.parameters())
                               .message());
  }

  Model<float>& model() override { return model_; }

  void ValidateData(ConfigProblems& problems) const override {
    if (!problem_.empty()) problems.Add(path_, problem_);
  }

  Showcase Show(Forward<float>& forward, bool /*final*/) const override {
    const LabelledSplits& splits = data_.splits;
    Showcase showcase;
    showcase.summary = absl::StrFormat(
        "Text classification: %d texts to learn from, of %d classes.",
        splits.train.size(), splits.labels.size());
    showcase.samples.title = "Texts and their classes";
    showcase.samples.input = "text";
    const std::vector<LabelledText>& texts = !splits.test.empty() ? splits.test
                                             : !splits.dev.empty()
                                                 ? splits.dev
                                                 : splits.train;
    const auto size = static_cast<int64_t>(texts.size());
    for (int64_t i = 0; i < std::min(kSamples, size); ++i) {
      const LabelledText& text = texts[static_cast<size_t>(i)];
      const int32_t found = model_.Classify(forward, text.text);
      showcase.samples.rows.push_back(
          {.input = text.text,
           .reference = splits.labels[static_cast<size_t>(text.label)],
           .output = splits.labels[static_cast<size_t>(found)],
           .correct = found == text.label});
    }
    return showcase;
  }

  std::map<std::string, std::string> Files() const override {
    return {{kVocabularyFile, model_.pieces().ToText()}};
  }
  std::map<std::string, std::string> DataDigests() const override {
    return data_.digests;
  }

 private:
  LabelledTextData data_;
  const TokenVocabulary vocabulary_;
  std::string path_;     // of the field that names what is read
  std::string problem_;  // with what it names
  TextClassifier<float> model_;
};

}  // namespace

void RegisterTextClassification(Plugins& plugins) {
  RegisterLabelledTextSources(plugins.data);
  plugins.tasks.Add<TextClassificationTask>("says of which class a text is");
}

}  // namespace regard
