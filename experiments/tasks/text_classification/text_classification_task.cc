#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "attention/transformer/validation.h"
#include "data/data_source.h"
#include "data/text/labelled_text_source.h"
#include "data/text/text_splits.h"
#include "data/text/token_vocabulary.h"
#include "data/text/wordpiece.h"
#include "experiments/experiment.pb.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/trained_run.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "files/sha256.h"
#include "google/protobuf/text_format.h"
#include "language/bert.h"
#include "language/bert.pb.h"
#include "language/masked_text.h"
#include "language/text_classifier.h"
#include "nn/parameters.h"
#include "nn/weights.h"
#include "options/config_problems.h"
#include "options/resolved.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

using ::google::protobuf::TextFormat;

namespace {

constexpr size_t kSamples = 10;
// File in the run folder with the tokenizer options (a MaskedWordsConfig) of
// the BERT run from which training began.
constexpr char kTokensFile[] = "tokens.textproto";

std::string AllText(const std::vector<LabelledText>& texts) {
  std::string all;
  for (const LabelledText& text : texts) {
    absl::StrAppend(&all, text.text, "\n", text.second.value_or(""), "\n");
  }
  return all;
}

// The run of model.bert from which training begins, if any, and the tokenizer
// options of that run. Without a run, the options come from the config.
struct InitialBert {
  std::optional<TrainedRun> run;
  MaskedWordsConfig tokens;
  std::string digest;               // SHA-256 of the weights of the run
  std::string path = "pretrained";  // path of the field that has the problem
  std::string problem;              // empty if there is none

  const BertConfig& bert() const { return run->config.model().bert(); }
};

// Opens a run of model.bert. Error messages can be printed as they are.
absl::Status Open(const std::string& path, InitialBert* initial) {
  REGARD_ASSIGN_OR_RETURN(TrainedRun run, OpenTrainedRun(path));
  if (!run.config.model().has_bert()) {
    return absl::InvalidArgumentError(
        absl::StrCat(run.path, " is not a run of model.bert"));
  }
  REGARD_RETURN_IF_ERROR(run.ReadText(kVocabularyFile).status());
  REGARD_ASSIGN_OR_RETURN(const RandomAccessFile weights,
                          RandomAccessFile::Open(run.weights));
  REGARD_ASSIGN_OR_RETURN(initial->digest, Sha256OfFile(weights));
  initial->tokens = run.config.model().bert().masked_words();
  initial->run = std::move(run);
  return absl::OkStatus();
}

// Returns the fields that affect what the weights compute, with the defaults of
// the published models filled in. Omits the pooler, dropout, activation
// checkpointing and initial values. Keeps only `lower_case` of the tokenizer
// options.
BertConfig WithoutIrrelevantFields(const BertConfig& config) {
  BertConfig relevant = config;
  relevant.clear_pooler();
  relevant.clear_masked_words();
  TransformerConfig& transformer = *relevant.mutable_transformer();
  transformer = BertTransformer(config);
  transformer.clear_dropout();
  transformer.clear_embedding_dropout();
  ClearDropPath(&transformer);
  transformer.clear_recompute();
  transformer.clear_initialization();
  transformer.mutable_attention()->mutable_attention()->clear_dropout();
  transformer.mutable_feed_forward()->clear_dropout();
  relevant.mutable_masked_words()->set_lower_case(
      config.masked_words().lower_case());
  return relevant;
}

// Returns the differences between fields that affect what the weights compute,
// or "" if there are none.
std::string DifferencesOf(const BertConfig& there, const BertConfig& here) {
  std::vector<std::string> differences;
  for (const auto& [path, before, after] :
       DiffResolvedFields(ResolvedFields(WithoutIrrelevantFields(there)),
                          ResolvedFields(WithoutIrrelevantFields(here)))) {
    differences.push_back(absl::StrCat(path, ": ", before, " -> ", after));
  }
  return absl::StrJoin(differences, "; ");
}

// Returns the BERT from which training begins. `kept` is the text in
// kTokensFile that a trained model has stored. If `kept` is empty, reads the
// run that config.pretrained names.
InitialBert InitialBertOf(const TextClassifierConfig& config,
                          const std::string& kept) {
  InitialBert initial;
  initial.tokens = config.bert().masked_words();
  if (config.pretrained().empty()) return initial;
  if (!kept.empty()) {
    if (!TextFormat::ParseFromString(kept, &initial.tokens)) {
      initial.problem = absl::StrCat("the run's ", kTokensFile, " is invalid");
    }
    return initial;
  }
  if (const absl::Status opened = Open(config.pretrained(), &initial);
      !opened.ok()) {
    initial.problem =
        std::string(absl::StripPrefix(opened.message(), "error: "));
  } else if (!config.bert().masked_words().vocabulary().empty()) {
    initial.path = "bert.masked_words.vocabulary";
    initial.problem =
        "must be left out: the run in `pretrained` has a vocabulary";
  } else if (const std::string differences =
                 DifferencesOf(initial.bert(), config.bert());
             !differences.empty()) {
    initial.path = "bert";
    initial.problem = absl::StrCat(
        "must match the run that `pretrained` names; differences (there -> "
        "here): ",
        differences);
  }
  return initial;
}

// Returns the stored vocabulary if there is one. Otherwise returns the
// vocabulary of the run from which training begins, or of the config.
TokenVocabularyResult VocabularyOf(const InitialBert& initial,
                                   const LabelledSplits& data) {
  const MaskedWordsConfig& tokens = initial.tokens;
  if (!data.vocabulary.empty()) {
    return {
        WordPiece::Parse(data.vocabulary, "", TokenOptions(tokens)).value()};
  }
  return ReadTokenVocabulary(
      initial.run.has_value() ? JoinPath(initial.run->path, kVocabularyFile)
                              : tokens.vocabulary(),
      AllText(data.train), TokenOptions(tokens), tokens.min_frequency());
}

// Loads all parameters except for the classifier, and except for a pooler that
// the file lacks. Reports all mismatches in one error.
absl::Status LoadPretrained(const std::string& weights,
                            ParameterStore<float>& parameters) {
  REGARD_RETURN_IF_ERROR(CheckMemory(parameters));
  REGARD_ASSIGN_OR_RETURN(const SafetensorsReader reader,
                          SafetensorsReader::Open(weights));
  std::vector<std::string> problems;
  for (const ParameterInfo& info : parameters.parameters()) {
    if (absl::StartsWith(info.name, "classifier.")) continue;
    if (absl::StartsWith(info.name, "pooler.") &&
        reader.header().tensors.count(info.name) == 0) {
      continue;
    }
    const absl::Status status =
        reader.Read(info.name, Extents(info.shape),
                    parameters.value(*parameters.FindByName(info.name)));
    if (!status.ok()) problems.emplace_back(status.message());
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(problems, "\n  "));
}

class TextClassificationTask : public Task {
 public:
  using Options = TextClassifierConfig;
  using Data = LabelledTextData;

  static std::vector<MetricInfo> Metrics() {
    return {
        {"loss", "nats per text", "cross-entropy", Better::kLower},
        {"accuracy", "", "fraction of texts whose class is predicted correctly",
         Better::kHigher}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateTextClassifier(options, context.scorers, problems);
  }

  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource&, const StoredFiles& kept,
                                  Data* data) {
    const Options& options = context.config.model().text_classifier();
    LabelledSplits& splits = data->splits;
    // Runs of earlier versions lack this file. For such runs, InitialBertOf()
    // reads the run that options.pretrained names, which must still exist.
    if (absl::StatusOr<std::string> tokens = kept.read(kTokensFile);
        tokens.ok()) {
      splits.tokens = *std::move(tokens);
    } else if (!absl::IsNotFound(tokens.status())) {
      return tokens.status();
    }
    const InitialBert initial = InitialBertOf(options, splits.tokens);
    if (!initial.problem.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("error: model.text_classifier.", initial.path, ": ",
                       initial.problem));
    }
    REGARD_ASSIGN_OR_RETURN(splits.vocabulary, kept.read(kVocabularyFile));
    REGARD_RETURN_IF_ERROR(
        WordPiece::Parse(splits.vocabulary,
                         JoinPath(kept.folder, kVocabularyFile),
                         TokenOptions(initial.tokens))
            .status());
    const absl::StatusOr<std::string> labels = kept.read(kLabelsFile);
    // Earlier versions did not store the labels.
    if (absl::IsNotFound(labels.status()) && !splits.labels.empty()) {
      return absl::OkStatus();
    }
    REGARD_RETURN_IF_ERROR(labels.status());
    return ReplaceLabels(absl::StrSplit(absl::StripSuffix(*labels, "\n"), '\n'),
                         &splits);
  }

  TextClassificationTask(const Options& options, Data data,
                         const TaskContext& context)
      : Task(Metrics(), std::move(data.digests), std::move(data.notes)),
        initial_(InitialBertOf(options, data.splits.tokens)),
        vocabulary_(VocabularyOf(initial_, data.splits)),
        model_(options, context.scorers, vocabulary_.pieces,
               std::move(data.splits),
               {.loss = LossOptionsOf(context.config.loss()),
                .seed = context.config.seed()}) {
    const bool begins = initial_.run.has_value();
    if (!vocabulary_.problem.empty() && initial_.problem.empty()) {
      initial_.path = begins ? "pretrained" : "bert.masked_words.vocabulary";
      initial_.problem = vocabulary_.problem;
    }
    if (!begins) {
      if (!vocabulary_.digest.empty()) {
        AddDigest("model.text_classifier.bert.masked_words.vocabulary",
                  vocabulary_.digest);
      }
      return;
    }
    AddDigest("model.text_classifier.pretrained", initial_.digest);
    if (!initial_.problem.empty()) return;
    initial_.problem = std::string(
        LoadPretrained(initial_.run->weights, model_.parameters()).message());
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return !model_.data().dev.empty(); }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return DevAndTestSizes(model_.data());
  }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.text_classifier");
    if (!initial_.problem.empty()) {
      problems.Add(initial_.path, initial_.problem);
    }
    model_.ValidateData(problems);
  }

  Showcase Show(Forward<float>& forward, bool /*final*/) const override {
    Showcase showcase;
    const LabelledSplits& data = model_.data();
    showcase.summary =
        absl::StrFormat("Text classification: %d training texts, %d classes.",
                        data.train.size(), data.labels.size());
    showcase.samples.title = "Texts and their classes";
    showcase.samples.input = "text";
    const absl::Span<const LabelledText> texts = *ShownSplit(data).first;
    if (!texts.empty()) {
      showcase.samples.rows =
          model_.Classify(forward, texts.subspan(0, kSamples)).examples;
    }
    return showcase;
  }

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
    std::map<std::string, std::string> files = {
        {kVocabularyFile, model_.pieces().ToText()},
        {kLabelsFile,
         absl::StrCat(absl::StrJoin(model_.data().labels, "\n"), "\n")}};
    if (initial_.run.has_value()) {
      std::string tokens;
      TextFormat::PrintToString(initial_.tokens, &tokens);
      files[kTokensFile] =
          absl::StrCat("# proto-message: regard.MaskedWordsConfig\n", tokens);
    }
    return files;
  }
  std::vector<std::string> Notes() const override {
    std::vector<std::string> notes = Task::Notes();
    if (initial_.run.has_value()) {
      notes.insert(notes.end(), initial_.run->notes.begin(),
                   initial_.run->notes.end());
    }
    if (!model_.names().note().empty()) notes.push_back(model_.names().note());
    return notes;
  }

 private:
  InitialBert initial_;
  const TokenVocabularyResult vocabulary_;
  TextClassifier model_;
};

}  // namespace

REGARD_PLUGINS(TextClassification) {
  plugins.tasks.Add<TextClassificationTask>("predicts the class of a text");
}

}  // namespace regard
