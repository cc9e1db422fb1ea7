#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "data/text/labelled_text_source.h"
#include "data/text/token_vocabulary.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/text_classification/pretrained_run.h"
#include "language/masked_text.h"
#include "language/text_classifier.h"
#include "nn/config_problems.h"

namespace regard {

namespace {

constexpr int64_t kSamples = 10;

std::string AllText(const std::vector<LabelledText>& texts) {
  std::string all;
  for (const LabelledText& text : texts) absl::StrAppend(&all, text.text, "\n");
  return all;
}

// A run to begin with, or none.
struct Beginning {
  std::optional<PretrainedRun> run;
  std::string path;     // of the field that a problem is with
  std::string problem;  // empty if there is none
};

Beginning BeginningOf(const TextClassifierConfig& config) {
  Beginning beginning;
  if (config.pretrained().empty()) return beginning;
  beginning.path = "pretrained";
  absl::StatusOr<PretrainedRun> run = OpenPretrainedRun(config.pretrained());
  if (!run.ok()) {
    beginning.problem =
        std::string(absl::StripPrefix(run.status().message(), "error: "));
    return beginning;
  }
  if (!config.bert().masked_words().vocabulary().empty()) {
    beginning.path = "bert.masked_words.vocabulary";
    beginning.problem = "is that of the run in `pretrained`: leave it out";
  } else if (const std::string difference = DifferenceFrom(*run, config.bert());
             !difference.empty()) {
    beginning.path = "bert";
    beginning.problem = absl::StrCat(
        "is not as in the run that `pretrained` names (there -> here): ",
        difference);
  }
  beginning.run = *std::move(run);
  return beginning;
}

// The run's, if there is one, else that of the config.
TokenVocabulary VocabularyOf(const Beginning& beginning,
                             const MaskedWordsConfig& config,
                             absl::string_view text) {
  const MaskedWordsConfig& tokens =
      beginning.run.has_value() ? beginning.run->bert().masked_words() : config;
  return ReadTokenVocabulary(
      beginning.run.has_value() ? beginning.run->vocabulary
                                : config.vocabulary(),
      text, TokenOptions(tokens), tokens.min_frequency());
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
      : Task(Metrics(), std::move(data.digests)),
        splits_(std::move(data.splits)),
        beginning_(BeginningOf(options)),
        vocabulary_(VocabularyOf(beginning_, options.bert().masked_words(),
                                 AllText(splits_.train))),
        model_(options, context.scorers, vocabulary_.pieces, splits_,
               {.loss = LossOptionsOf(context.config.loss()),
                .seed = context.config.seed()}) {
    if (!vocabulary_.problem.empty() && beginning_.problem.empty()) {
      beginning_.path = beginning_.run.has_value()
                            ? "pretrained"
                            : "bert.masked_words.vocabulary";
      beginning_.problem = vocabulary_.problem;
    }
    if (!beginning_.run.has_value()) {
      if (!vocabulary_.digest.empty()) {
        AddDigest("model.text_classifier.bert.masked_words.vocabulary",
                  vocabulary_.digest);
      }
      return;
    }
    AddDigest("model.text_classifier.pretrained", beginning_.run->digest);
    if (!beginning_.problem.empty()) return;
    beginning_.problem = std::string(
        LoadPretrained(*beginning_.run, model_.parameters()).message());
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return !splits_.dev.empty(); }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.text_classifier");
    if (!beginning_.problem.empty()) {
      problems.Add(beginning_.path, beginning_.problem);
    }
    model_.ValidateData(problems);
  }

  Showcase Show(Forward<float>& forward, bool /*final*/) const override {
    Showcase showcase;
    showcase.summary = absl::StrFormat(
        "Text classification: %d texts to learn from, of %d classes.",
        splits_.train.size(), splits_.labels.size());
    showcase.samples.title = "Texts and their classes";
    showcase.samples.input = "text";
    const std::vector<LabelledText>& texts = *ShownSplit(splits_).first;
    const auto size = static_cast<int64_t>(texts.size());
    for (int64_t i = 0; i < std::min(kSamples, size); ++i) {
      const LabelledText& text = texts[static_cast<size_t>(i)];
      const int32_t found = model_.Classify(forward, text.text);
      showcase.samples.rows.push_back(
          {.input = text.text,
           .reference = splits_.labels[static_cast<size_t>(text.label)],
           .output = splits_.labels[static_cast<size_t>(found)],
           .correct = found == text.label});
    }
    return showcase;
  }

  std::map<std::string, std::string> Files() const override {
    return {{kVocabularyFile, model_.pieces().ToText()}};
  }
  std::vector<std::string> Notes() const override {
    return beginning_.run.has_value() ? beginning_.run->notes
                                      : std::vector<std::string>();
  }

 private:
  const LabelledSplits splits_;
  Beginning beginning_;
  const TokenVocabulary vocabulary_;
  TextClassifier model_;
};

}  // namespace

REGARD_PLUGINS(TextClassification) {
  plugins.tasks.Add<TextClassificationTask>("says of which class a text is");
}

}  // namespace regard
