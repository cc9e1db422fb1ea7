#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "attention/inspection/attention_maps.h"
#include "autodiff/tape.h"
#include "data/data_source.h"
#include "data/text/text_source.h"
#include "data/text/text_splits.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/traced_maps.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "language/generator.h"
#include "language/language_model.h"
#include "language/load_tokenizer.h"
#include "language/text_model.h"
#include "language/text_vocabulary.h"
#include "options/config_problems.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kSamples = 5;
constexpr int64_t kSampleIds = 120;
constexpr double kSampleTemperature = 0.8;
constexpr int64_t kMapIds = 32;

// Returns the file name of the vocabulary in a run folder.
const char* VocabularyFile(const LanguageModelConfig& config) {
  return config.unit() == LanguageModelConfig::BYTE_PAIRS ? kBytePairsFile
                                                          : "vocabulary.txt";
}

class LanguageModelTask : public Task {
 public:
  using Options = LanguageModelConfig;
  using Data = TextData;

  static std::vector<MetricInfo> Metrics() {
    return {
        {"loss", "nats per token", "cross-entropy", Better::kLower,
         /*logarithmic=*/true},
        {"perplexity", "tokens",
         "exp(loss): the model is as uncertain as a uniform choice among "
         "this many",
         Better::kLower,
         /*logarithmic=*/true},
        {"token_accuracy", "",
         "fraction of tokens predicted correctly from the true tokens before "
         "them",
         Better::kHigher},
        {"bits_per_character", "bits", "cross-entropy per character",
         Better::kLower},
        {"prefix_matching", "",
         "mean attention weight from a repeated token to the token after "
         "its earlier occurrence, for the head with the greatest mean",
         Better::kHigher}};
  }

  static void Validate(const Options& options, const TaskContext& context,
                       ConfigProblems& problems) {
    ValidateLanguageModel(options, context.scorers, problems);
  }

  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource&, const StoredFiles& kept,
                                  Data* data);

  LanguageModelTask(const Options& options, Data data,
                    const TaskContext& context)
      : Task(Metrics(), std::move(data.digests), std::move(data.notes)),
        seed_(context.config.seed()),
        entropy_(options.unit() == Options::CHARACTERS ? data.entropy : 0),
        tokenized_(LoadTokenizer(options, &data.splits)),
        model_(tokenized_.config, context.scorers, data.splits,
               context.model_options()) {
    if (!tokenized_.digest.empty()) {
      AddDigest("model.language_model.tokens.folder", tokenized_.digest);
    }
  }

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return model_.has_dev(); }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    return {{"dev", std::ssize(model_.dev().ids), "tokens"},
            {"test", std::ssize(model_.test().ids), "tokens"}};
  }
  bool MeasuresOnDev(const std::string& metric) const override {
    if (metric == "prefix_matching") {
      return MeasuresPrefixMatching(model_.config());
    }
    return metric != "bits_per_character" ||
           !model_.language_model().vocabulary().words();
  }

  void ValidateData(ConfigProblems& problems) const override {
    const ConfigProblems::Scope scope(problems, "model.language_model");
    for (const auto& [field, problem] : tokenized_.problems) {
      problems.Add(absl::StrCat("tokens.", field), problem);
    }
    if (!tokenized_.problems.empty()) return;
    const std::string problem = model_.Problem();
    if (!problem.empty()) problems.Add("block", problem);
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
    return {{VocabularyFile(tokenized_.config), model().vocabulary().ToText()}};
  }

 private:
  const LanguageModel& model() const { return model_.language_model(); }
  std::vector<std::vector<int32_t>> Prompts() const;
  void AddHeatMaps(Forward<float>& forward, absl::Span<const int32_t> ids,
                   Showcase* showcase) const;

  const uint64_t seed_;
  const double entropy_;  // nats per character; 0 if unknown
  const TokenizerLoadReport tokenized_;
  TrainableLanguageModel model_;
};

absl::Status LanguageModelTask::RestoreData(const TaskContext& context,
                                            const AnyDataSource&,
                                            const StoredFiles& kept,
                                            Data* data) {
  TextSplits& splits = data->splits;
  const LanguageModelConfig& config = context.config.model().language_model();
  const char* const file = VocabularyFile(config);
  REGARD_ASSIGN_OR_RETURN(splits.vocabulary, kept.read(file));
  REGARD_ASSIGN_OR_RETURN(
      const TextVocabulary vocabulary,
      TextVocabulary::Parse(splits.vocabulary, JoinPath(kept.folder, file),
                            config));
  // All splits come from data.path, unless dev has its own path. Generated
  // texts have no path.
  const auto& from = context.config.data();
  const bool apart = !from.dev_path().empty();
  REGARD_RETURN_IF_ERROR(vocabulary.CheckKnownCharacters(
      absl::StrCat(splits.train, apart ? "" : splits.dev, splits.test),
      data->digests.empty() ? "data" : ResolveUserPath(from.path())));
  return vocabulary.CheckKnownCharacters(apart ? splits.dev : "",
                                         ResolveUserPath(from.dev_path()));
}

// Returns prompts from dev, or from the training text if there is no dev split.
// They begin at evenly spaced positions and have the length of half a line or
// half a block.
std::vector<std::vector<int32_t>> LanguageModelTask::Prompts() const {
  const EncodedText& text =
      model_.dev().ids.empty() ? model_.train() : model_.dev();
  const auto size = static_cast<int64_t>(text.ids.size());
  const auto lines = static_cast<int64_t>(text.lines.size()) - 1;
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t i = 0; i < kSamples; ++i) {
    int64_t first = size * i / kSamples;
    int64_t length = std::max<int64_t>(
        1, std::min({model().block() / 2, kMapIds, size - first}));
    if (lines > 0) {
      if (i >= lines) break;
      const int64_t line = lines * i / kSamples;
      first = text.lines[line];
      length = (text.lines[line + 1] - first) / 2;
    }
    const auto begin = text.ids.begin() + first;
    prompts.emplace_back(begin, begin + length);
  }
  return prompts;
}

// Adds the self-attention of each layer.
void LanguageModelTask::AddHeatMaps(Forward<float>& forward,
                                    absl::Span<const int32_t> ids,
                                    Showcase* showcase) const {
  const TraceablePrediction<float> traced =
      model_.TraceIds({ids.begin(), ids.end()}, ids.back());
  forward.BeginStep();
  const auto read = [&] { traced.pass(forward); };
  for (const AttentionMap<float>& map :
       RecordAttentionMaps(forward, {kAllMaps}, read)) {
    LabelledMatrix matrix = WeightsOf(traced.labels, map);
    absl::StrAppend(&matrix.title, ": ", traced.labels.input);
    showcase->heat_maps.push_back(std::move(matrix));
  }
}

Showcase LanguageModelTask::Show(Forward<float>& forward,
                                 bool /*final*/) const {
  const TextVocabulary& vocabulary = model().vocabulary();
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Language model: %d training ids, %d different %s.",
      model_.train().ids.size(), vocabulary.size(), vocabulary.unit_name());
  showcase.samples.title =
      absl::StrFormat("Continuations of at most %d ids at temperature %g",
                      kSampleIds, kSampleTemperature);
  showcase.samples.input = "beginning";
  GenerationOptions options;
  options.length = kSampleIds;
  SamplingConfig& sampling = *options.search.mutable_sampling();
  sampling.set_temperature(kSampleTemperature);
  sampling.set_seed(seed_);
  const std::vector<std::vector<int32_t>> prompts = Prompts();
  const auto made = Generate(model(), forward, prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i) {
    showcase.samples.rows.push_back(
        {.input = vocabulary.OneLine(prompts[i]),
         .output = vocabulary.OneLine(made[i][0].ids)});
  }
  AddHeatMaps(forward, prompts.front(), &showcase);
  if (entropy_ > 0) {
    for (const char* split : {"dev", "test"}) {
      showcase.notes[absl::StrCat(split, "/loss")] =
          absl::StrFormat("entropy of the grammar: %.4f", entropy_);
      showcase.notes[absl::StrCat(split, "/bits_per_character")] =
          absl::StrFormat("entropy of the grammar: %.4f",
                          entropy_ / std::log(2.0));
    }
  }
  return showcase;
}

}  // namespace

REGARD_PLUGINS(Text) {
  plugins.tasks.Add<LanguageModelTask>(
      "predicts the next character, word or subword of a text");
}

}  // namespace regard
