#include <algorithm>
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
#include "attention/inspection/inspection.h"
#include "data/data_source.h"
#include "data/pairs/sentence_source.h"
#include "data/target_lengths.h"
#include "data/text/vocabulary.h"
#include "experiments/experiment.pb.h"
#include "experiments/report/run_results.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "files/file.h"
#include "optimization/evaluated_set.h"
#include "options/config_problems.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/ter.h"
#include "seq2seq/seq2seq.pb.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/translation_model.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

// Copies the fields of an EncoderDecoderConfig from the fields of `model` with
// the same names.
EncoderDecoderConfig EncoderDecoderOf(const ModelConfig& model) {
  EncoderDecoderConfig config;
  const auto& from = *model.GetDescriptor();
  const auto& to = *config.GetDescriptor();
  for (int i = 0; i < to.field_count(); ++i) {
    const auto* const field = from.FindFieldByName(to.field(i)->name());
    if (!model.GetReflection()->HasField(model, field)) continue;
    config.GetReflection()
        ->MutableMessage(&config, to.field(i))
        ->CopyFrom(model.GetReflection()->GetMessage(model, field));
  }
  return config;
}

// Maximum number of test sentences in a report.
constexpr size_t kMaxSamples = 12;
// Maximum number of tokens of a raw sentence in a report.
constexpr size_t kMaxShownTokens = 200;
constexpr size_t kMaxHeatMaps = 6;
// Each explained word takes a forward pass over all words before it.
constexpr size_t kMaxExplainedWords = 40;

constexpr char kSourceFile[] = "source_vocabulary.txt";
constexpr char kTargetFile[] = "target_vocabulary.txt";

// Returns the alignment error rate of diagonal alignments, a baseline that
// ignores the words.
double DiagonalErrorRate(absl::Span<const SentencePair> pairs) {
  AlignmentErrorRate rate;
  for (const SentencePair& pair : pairs) {
    rate.Add(DiagonalLinks(static_cast<int>(pair.target.size()),
                           static_cast<int>(pair.source.size())),
             pair.alignment);
  }
  return rate.Rate();
}

// Base class of all translation tasks. Its config is the whole experiment.
class TranslationTask : public Task {
 public:
  using Data = SentenceData;

  static constexpr bool kSearches = true;

  static std::vector<MetricInfo> Metrics();
  // Does nothing, because ValidateModelFields() validates the options after
  // merging them with other parts.
  static void Validate(const auto&, const TaskContext&, ConfigProblems&) {}
  static void ValidateModelFields(const TaskContext& context,
                                  ConfigProblems& problems);
  static absl::Status RestoreData(const TaskContext& context,
                                  const AnyDataSource& source,
                                  const StoredFiles& kept, Data* data);
  TranslationTask(Data data, const TaskContext& context)
      : Task(Metrics(), std::move(data.digests)),
        search_(context.config.search()),
        model_(EncoderDecoderOf(context.config.model()), context.scorers,
               std::move(data), context.model_options(), search_) {}

  Model<float>& model() override { return model_; }
  bool has_dev() const override { return !model_.data().dev.empty(); }
  std::vector<EvaluatedSplitSize> EvaluatedSplitSizes() const override {
    const SentenceData& data = model_.data();
    std::vector<EvaluatedSplitSize> all = {{"dev", std::ssize(data.dev.pairs)}};
    for (const auto& test : data.tests) {
      all.push_back(
          {absl::StrCat("test", test.suffix), std::ssize(test.pairs)});
    }
    return all;
  }
  bool MeasuresOnDev(const std::string& metric) const override;
  void ValidateData(ConfigProblems& problems) const override;
  Showcase Show(Forward<float>& forward, bool final) const override;
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
    std::map<std::string, std::string> files = model_.data().files;
    const Translator& translator = model_.translator();
    files[kSourceFile] = translator.source_vocabulary().ToText();
    files[kTargetFile] = translator.target_vocabulary().ToText();
    return files;
  }
  std::map<std::string, double> TrainingDataNumbersToStore() const override {
    return model_.translator().lengths().ToNumbers();
  }
  std::vector<std::string> Notes() const override {
    return model_.data().notes;
  }
  std::map<std::string, std::string> Signatures() const override {
    return model_.Signatures();
  }

 private:
  std::vector<SentencePair> ShownPairs() const;
  LabelledMatrix HeatMap(const SentencePair& pair,
                         const Translation& translation) const;
  void Explain(Forward<float>& forward, const SentencePair& pair,
               std::vector<std::string> words,
               std::vector<Inspection<float>>* inspections) const;

  const SearchConfig search_;
  TranslationModel model_;
};

class RecurrentTranslation : public TranslationTask {
 public:
  using Options = RecurrentDecoderConfig;
  // Includes `alignment`, although it has no effect here, because the
  // validators report a note that explains this.
  static constexpr const char* kModelFields[] = {
      "attention", "encoder", "transformer_encoder", "alignment"};

  RecurrentTranslation(const Options&, Data data, const TaskContext& context)
      : TranslationTask(std::move(data), context) {}
};

class TransformerTranslation : public TranslationTask {
 public:
  using Options = TransformerConfig;
  // Includes `attention`, although it is invalid here, because the validators
  // report an error that names the right field.
  static constexpr const char* kModelFields[] = {
      "attention", "encoder", "transformer_encoder", "transformer_decoder",
      "alignment"};

  TransformerTranslation(const Options&, Data data, const TaskContext& context)
      : TranslationTask(std::move(data), context) {}
};

void TranslationTask::ValidateData(ConfigProblems& problems) const {
  // Checks the samples of raw text separately, because they belong to no split
  // and have no encoded references.
  const std::vector<SentencePair>& samples = model_.data().samples;
  for (size_t i = 0; i < samples.size(); ++i) {
    const absl::Status fits =
        model_.translator().CheckSourceLength(samples[i].source);
    if (fits.ok()) continue;
    problems.Add(absl::StrCat("data.pairs.samples[", i, "].source"),
                 std::string(fits.message()));
  }
  const ConfigProblems::Scope scope(problems, "model");
  model_.ValidateData(problems);
}

std::vector<MetricInfo> TranslationTask::Metrics() {
  // The order matters, because a report shows the first metrics on its first
  // screen.
  std::vector<MetricInfo> metrics = {
      {"exact_match", "",
       "fraction of sentences whose translation equals the reference",
       Better::kHigher},
      {"bleu", "0 to 100", "overlap of word sequences with the reference",
       Better::kHigher},
      {"chrf", "0 to 100", "overlap of character sequences with the reference",
       Better::kHigher},
      {"chrf++", "0 to 100",
       "overlap of character and word sequences with the reference",
       Better::kHigher},
      {"ter", "percent",
       "edits, including shifts, that turn a translation into the reference, "
       "per word of the reference",
       Better::kLower},
      {"alignment_error_rate", "",
       "fraction of word alignments on which attention and the gold "
       "alignments disagree",
       Better::kLower},
      {"gold_selected", "",
       "fraction of gold word alignments whose source word the key selection "
       "of the attention kept, averaged over heads",
       Better::kHigher},
      {"loss", "nats per token", "cross-entropy", Better::kLower,
       /*logarithmic=*/true},
      {"perplexity", "words",
       "exp(loss): the model is as uncertain as a uniform choice among this "
       "many",
       Better::kLower,
       /*logarithmic=*/true},
      {"token_accuracy", "",
       "fraction of tokens predicted correctly from the true tokens before "
       "them",
       Better::kHigher},
      {"d2l_bleu_k2", "0 to 1",
       "overlap of words and word pairs as Dive into Deep Learning counts it",
       Better::kHigher},
      {"cut_outputs", "translations",
       "outputs cut at the length limit of the search, which "
       "search.max_length raises",
       Better::kLower}};
  // The second test split has the same metrics.
  const size_t count = metrics.size();
  for (size_t i = 0; i < count; ++i) {
    MetricInfo apart = metrics[i];
    apart.name += "_apart";
    apart.meaning += ", on held-out examples unlike the training data";
    metrics.push_back(std::move(apart));
  }
  metrics.push_back(
      {"d2l_loss", "nats per token and step",
       "cross-entropy of a token divided by cut_tokens, which Dive into "
       "Deep Learning prints as its loss",
       Better::kLower});
  return metrics;
}

bool TranslationTask::MeasuresOnDev(const std::string& metric) const {
  const EvaluationSet& dev = model_.data().dev;
  if (metric == "chrf++" || metric == "ter") return !dev.references.empty();
  if (metric == "d2l_bleu_k2") return model_.data().cut_tokens > 0;
  if (metric == "alignment_error_rate" || metric == "gold_selected") {
    return model_.has_attention() &&
           (metric != "gold_selected" || model_.selects_keys()) &&
           std::ranges::any_of(dev.pairs, [](const SentencePair& pair) {
             return !pair.alignment.empty();
           });
  }
  return metric != "d2l_loss" && !metric.ends_with("_apart");
}

void TranslationTask::ValidateModelFields(const TaskContext& context,
                                          ConfigProblems& problems) {
  const EncoderDecoderConfig config = EncoderDecoderOf(context.config.model());
  if (!config.has_encoder() && !HasTransformerEncoder(config)) {
    problems.Add("",
                 "a decoder requires an encoder: set encoder {} or "
                 "transformer_encoder {}");
    return;
  }
  ValidateEncoderDecoder(config, context.scorers, problems);
  const PairsConfig& pairs = context.config.data().pairs();
  if (TransformerOfDecoder(config).tied_embeddings() ==
          TransformerConfig::SOURCE_TARGET_OUTPUT &&
      pairs.has_subwords() && !pairs.subwords().joint()) {
    problems.Add("",
                 "tied_embeddings: SOURCE_TARGET_OUTPUT requires one "
                 "vocabulary for both sides; set "
                 "data.pairs.subwords.joint: true");
  }
}

absl::Status TranslationTask::RestoreData(const TaskContext& context,
                                          const AnyDataSource& source,
                                          const StoredFiles& kept, Data* data) {
  for (const auto& [name, vocabulary] :
       {std::pair(kSourceFile, &data->source_vocabulary),
        std::pair(kTargetFile, &data->target_vocabulary)}) {
    REGARD_ASSIGN_OR_RETURN(const std::string text, kept.read(name));
    REGARD_ASSIGN_OR_RETURN(
        *vocabulary, EnsureErrorPrefix(
                         Vocabulary::Parse(text, JoinPath(kept.folder, name))));
  }
  data->lengths = TargetLengths::FromNumbers(kept.numbers);
  if (const auto* of_pairs = dynamic_cast<const SentenceSource*>(&source)) {
    data->cut_tokens = of_pairs->cut_tokens();
    REGARD_ASSIGN_OR_RETURN(data->tokenizers,
                            of_pairs->MakeTokenizers(kept.read));
    data->tokenizers.rules.words = of_pairs->words();
  }
  data->tokenizers.rules.version = context.config.data().text_version();
  return absl::OkStatus();
}

LabelledMatrix TranslationTask::HeatMap(const SentencePair& pair,
                                        const Translation& translation) const {
  LabelledMatrix map;
  map.title = model_.translator().SourceText(pair.source);
  map.rows = model_.translator().Words(translation);
  const bool right = map.rows == pair.target;
  if (translation.finished) map.rows.push_back("<eos>");
  map.columns = pair.source;
  map.columns.push_back("<eos>");
  const size_t columns = translation.weights.size() / map.rows.size();
  map.columns.resize(columns);
  map.heads.push_back({translation.weights.begin(), translation.weights.end()});
  // Gold alignments refer to the words of the reference, so they apply only if
  // the translation equals it.
  if (right) {
    for (const AlignmentLink& link : pair.alignment) {
      map.gold.push_back({link.target, link.source});
    }
  }
  return map;
}

std::vector<SentencePair> TranslationTask::ShownPairs() const {
  const SentenceData& data = model_.data();
  std::vector<SentencePair> shown = data.samples;
  std::vector<const EvaluationSet*> sets;
  for (const EvaluationSet& test : data.tests) sets.push_back(&test);
  sets.push_back(&data.dev);
  for (const EvaluationSet* set : sets) {
    for (const SentencePair& pair : set->pairs) {
      if (shown.size() == kMaxSamples) break;
      // Omits empty lines of raw text, and lines that are too long to draw.
      if (!pair.source.empty() && pair.source.size() <= kMaxShownTokens &&
          pair.target.size() <= kMaxShownTokens) {
        shown.push_back(pair);
      }
    }
  }
  return shown;
}

void TranslationTask::Explain(
    Forward<float>& forward, const SentencePair& pair,
    std::vector<std::string> words,
    std::vector<Inspection<float>>* inspections) const {
  words.resize(std::min(words.size(), kMaxExplainedWords));
  model_.translator().TruncateTarget(&words);
  if (words.empty()) return;
  const bool right = words == pair.target;
  inspections->push_back(Inspect(
      forward,
      model_.TracePair(pair.source, words,
                       right ? pair.alignment : std::vector<AlignmentLink>()),
      {}));
}

Showcase TranslationTask::Show(Forward<float>& forward, bool final) const {
  const SentenceData& data = model_.data();
  const Translator& translator = model_.translator();
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Translation: %d training sentence pairs, %d source and %d target %s.",
      model_.num_examples(), translator.source_vocabulary().size(),
      translator.target_vocabulary().size(),
      translator.tokenizers().target == nullptr ? "words" : "subwords");
  for (const std::string& note : data.notes) {
    absl::StrAppend(&showcase.summary, " ", note, ".");
  }
  showcase.samples.title = "Translations";
  showcase.samples.input = "source";
  showcase.heat_map_caption =
      "Attention: each word on the left looks at the words above";
  const std::vector<SentencePair> shown = ShownPairs();
  std::vector<std::vector<std::string>> sources;
  for (const SentencePair& pair : shown) sources.push_back(pair.source);
  const std::vector<std::vector<Translation>> translations =
      translator.Translate(forward, sources, search_, /*want_weights=*/true);
  for (size_t i = 0; i < shown.size(); ++i) {
    const Translation& best = translations[i].front();
    const std::vector<std::string> words = translator.Words(best);
    showcase.samples.rows.push_back(
        {.input = translator.SourceText(shown[i].source),
         .reference = translator.TargetText(shown[i].target),
         .output = translator.TargetText(words)});
    if (!best.weights.empty() && showcase.heat_maps.size() < kMaxHeatMaps) {
      showcase.heat_maps.push_back(HeatMap(shown[i], best));
    }
    if (final && i < kMaxHeatMaps && model_.has_attention()) {
      Explain(forward, shown[i], words, &showcase.inspections);
    }
  }
  showcase.heat_maps_on_page = showcase.inspections.empty();
  for (const EvaluationSet& test : data.tests) {
    const auto name = [&](const char* metric) {
      return absl::StrCat("test", test.name.empty() ? "" : ".", test.name, "/",
                          metric, test.suffix);
    };
    if (test.empty()) continue;
    showcase.notes[name("cut_outputs")] =
        absl::StrFormat("of %d", test.pairs.size());
    if (test.pairs.front().alignment.empty()) continue;
    showcase.notes[name("alignment_error_rate")] = absl::StrFormat(
        "diagonal alignment: %.3f", DiagonalErrorRate(test.pairs));
  }
  return showcase;
}

}  // namespace

REGARD_PLUGINS(Translation) {
  plugins.tasks.Add<RecurrentTranslation>("translation by a recurrent decoder");
  plugins.tasks.Add<TransformerTranslation>("translation by a Transformer");
  for (const Aggregate* aggregate : {&kBleu, &kChrf, &kChrfPlusPlus, &kTer}) {
    plugins.aggregates[aggregate->name] = aggregate;
  }
}

}  // namespace regard
