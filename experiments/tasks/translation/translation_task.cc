#include "experiments/tasks/translation/translation_task.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "attention/attention.pb.h"
#include "autodiff/tape.h"
#include "experiments/tasks/translation/inspection.h"
#include "experiments/tasks/translation/sentence_source.h"
#include "experiments/tasks/translation/trained_translator.h"
#include "google/protobuf/message.h"
#include "nn/config_problems.h"
#include "nn/option_registry.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/search/search.pb.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/translation_model.h"
#include "seq2seq/vocabulary.h"

namespace regard {

namespace {

// Of the test split, what the report shows.
constexpr size_t kMostSamples = 12;
constexpr size_t kMostHeatMaps = 6;
// Each takes a pass over all words before it.
constexpr size_t kMostExplainedWords = 40;

// How `config` wants its loss, and its seed.
TranslationOptions OptionsOf(const Experiment& config, int64_t num_steps) {
  using Normalizer = TranslationOptions::Normalizer;
  TranslationOptions options;
  options.normalizer = config.loss().normalizer() == Loss::SUM
                           ? Normalizer::kSum
                       : config.loss().normalizer() == Loss::PER_SEQUENCE
                           ? Normalizer::kPerSequence
                           : Normalizer::kPerToken;
  options.scale = config.loss().scale();
  options.label_smoothing = config.loss().label_smoothing();
  options.num_steps = num_steps;
  options.seed = config.seed();
  options.search = config.search();
  return options;
}

// Of source and target, which are one where they share an embedding.
std::pair<Vocabulary, Vocabulary> VocabulariesOf(const SentenceData& data,
                                                 const ModelConfig& model) {
  const bool shared =
      TransformerOfDecoder(EncoderDecoderOf(model)).tied_embeddings() ==
      TransformerConfig::SOURCE_TARGET_OUTPUT;
  VocabularyBuilder source;
  VocabularyBuilder target;
  const auto add = [&](const SentencePair& pair) {
    source.Add(pair.source);
    (shared ? source : target).Add(pair.target);
  };
  for (const SentencePair& pair : data.splits.train) add(pair);
  add(data.further_words);
  return {source.Build(data.min_frequency),
          (shared ? source : target).Build(data.min_frequency)};
}

// The alignment error of a diagonal: what knowing nothing of words gives.
double DiagonalErrorRate(absl::Span<const SentencePair> pairs) {
  AlignmentErrorRate rate;
  for (const SentencePair& pair : pairs) {
    rate.Add(DiagonalLinks(static_cast<int>(pair.target.size()),
                           static_cast<int>(pair.source.size())),
             pair.alignment);
  }
  return rate.Rate();
}

// The task of every model; its config is that of the whole experiment.
class TranslationTask : public Task {
 public:
  using Data = SentenceData;

  static constexpr bool kSearches = true;

  static std::vector<MetricInfo> Metrics();
  static void ValidateParts(const TaskContext& context,
                            ConfigProblems& problems);
  static void AddParameters(const google::protobuf::Message& options,
                            const Data& data, const TaskContext& context,
                            ParameterStore<float>& store);

  TranslationTask(Data data, const TaskContext& context)
      : TranslationTask(VocabulariesOf(data, context.config.model()),
                        std::move(data), context) {}

  Model<float>& model() override { return model_; }
  void ValidateData(ConfigProblems& problems) const override;
  Showcase Show(Forward<float>& forward, bool final) const override;

  std::map<std::string, std::string> Files() const override {
    return {{"source_vocabulary.txt",
             model_.translator().source_vocabulary().ToText()},
            {"target_vocabulary.txt",
             model_.translator().target_vocabulary().ToText()}};
  }
  std::map<std::string, std::string> DataDigests() const override {
    return digests_;
  }

 private:
  TranslationTask(std::pair<Vocabulary, Vocabulary> vocabularies, Data&& data,
                  const TaskContext& context)
      : Task(Metrics()),
        search_(context.config.search()),
        config_(context.config.model()),
        digests_(std::move(data.digests)),
        samples_(std::move(data.samples)),
        model_(EncoderDecoderOf(config_), context.scorers,
               std::move(vocabularies.first), std::move(vocabularies.second),
               std::move(data.splits),
               OptionsOf(context.config, data.num_steps)) {}

  std::vector<SentencePair> ShownPairs() const;
  std::vector<Translation> Translate(
      Forward<float>& forward, absl::Span<const SentencePair> pairs) const;
  LabelledMatrix HeatMap(const SentencePair& pair,
                         const Translation& translation) const;
  std::vector<Explanation> Explain() const;

  const SearchConfig search_;
  const ModelConfig config_;
  std::map<std::string, std::string> digests_;
  std::vector<SentencePair> samples_;
  TranslationModel model_;
};

// A recurrent encoder and decoder.
class RecurrentTranslation : public TranslationTask {
 public:
  using Options = RecurrentDecoderConfig;
  static constexpr const char* kParts[] = {"attention", "encoder",
                                           "transformer_encoder"};

  RecurrentTranslation(const Options&, Data data, const TaskContext& context)
      : TranslationTask(std::move(data), context) {}
};

class TransformerTranslation : public TranslationTask {
 public:
  using Options = TransformerConfig;
  // `attention` is there for the message that says where it belongs.
  static constexpr const char* kParts[] = {
      "attention", "encoder", "transformer_encoder", "transformer_decoder"};

  TransformerTranslation(const Options&, Data data, const TaskContext& context)
      : TranslationTask(std::move(data), context) {}
};

// Where the config says how the decoder attends.
std::string PathOfDecoder(const ModelConfig& model) {
  if (model.has_transformer_decoder()) return "transformer_decoder";
  if (model.has_transformer()) return "transformer";
  return absl::StrCat(
      "attention.",
      ChooseOption(model.attention(),
                   *Attention::descriptor()->FindOneofByName("score"))
          .path);
}

void TranslationTask::ValidateData(ConfigProblems& problems) const {
  const EncoderDecoder<float>& model = model_.translator().model();
  const TranslationModel::Lengths longest = model_.LongestSentences();
  const ConfigProblems::Scope scope(problems, "model");
  const auto check = [&](int64_t known, int64_t needed, const char* side,
                         const std::string& path) {
    if (needed <= known) return;
    problems.Add(path, absl::StrCat("knows positions up to ", known - 1,
                                    "; the longest ", side,
                                    " of the data, <eos> included, has "
                                    "positions up to ",
                                    needed - 1));
  };
  check(model.encoder->longest_position(), longest.source, "source",
        config_.has_transformer_encoder() ? "transformer_encoder"
                                          : "transformer");
  check(model.decoder->longest_memory(), longest.source, "source",
        PathOfDecoder(config_));
  check(model.decoder->longest_position(), longest.target, "target",
        PathOfDecoder(config_));
}

std::vector<MetricInfo> TranslationTask::Metrics() {
  // The first ones are on the first screen of a report.
  std::vector<MetricInfo> metrics = {
      {"exact_match", "", "share of sentences translated word for word",
       Better::kHigher},
      {"bleu", "0 to 100", "overlap of word sequences with the reference",
       Better::kHigher},
      {"chrf", "0 to 100", "overlap of character sequences with the reference",
       Better::kHigher},
      {"alignment_error_rate", "",
       "share of gold word links that attention misses or adds",
       Better::kLower},
      {"loss", "nats per token", "cross-entropy", Better::kLower,
       /*logarithmic=*/true},
      {"perplexity", "words",
       "how many the model hesitates between, on average", Better::kLower,
       /*logarithmic=*/true},
      {"token_accuracy", "",
       "share of tokens predicted right when given the true tokens before",
       Better::kHigher},
      {"d2l_bleu_k2", "0 to 1",
       "overlap of words and word pairs as Dive into Deep Learning counts it",
       Better::kHigher}};
  // The second test split has the same.
  const size_t count = metrics.size();
  for (size_t i = 0; i < count; ++i) {
    MetricInfo apart = metrics[i];
    apart.name += "_apart";
    apart.meaning += ", on what training keeps apart";
    metrics.push_back(std::move(apart));
  }
  metrics.push_back({"d2l_loss", "",
                     "loss as Dive into Deep Learning counts it: a mean over "
                     "all positions, padding included",
                     Better::kLower});
  return metrics;
}

void TranslationTask::ValidateParts(const TaskContext& context,
                                    ConfigProblems& problems) {
  const EncoderDecoderConfig config = EncoderDecoderOf(context.config.model());
  if (!config.has_encoder() && !HasTransformerEncoder(config)) {
    problems.Add("",
                 "the decoder reads an encoder: give one, as in encoder {} or "
                 "transformer_encoder {}");
    return;
  }
  ValidateEncoderDecoder(config, context.scorers, problems);
}

void TranslationTask::AddParameters(const google::protobuf::Message&,
                                    const Data& data,
                                    const TaskContext& context,
                                    ParameterStore<float>& store) {
  const ModelConfig& model = context.config.model();
  const auto [source, target] = VocabulariesOf(data, model);
  MakeModel<float>(EncoderDecoderOf(model), context.scorers,
                   {.source = source.size(), .target = target.size()},
                   store.Root());
}

LabelledMatrix TranslationTask::HeatMap(const SentencePair& pair,
                                        const Translation& translation) const {
  LabelledMatrix map;
  map.title = absl::StrJoin(pair.source, " ");
  map.rows = model_.translator().Words(translation);
  const bool right = map.rows == pair.target;
  if (translation.finished) map.rows.push_back("<eos>");
  map.columns = pair.source;
  map.columns.push_back("<eos>");
  const size_t columns = translation.weights.size() / map.rows.size();
  map.columns.resize(columns);
  map.heads.push_back({translation.weights.begin(), translation.weights.end()});
  // Gold links speak of the reference's words.
  if (right) {
    for (const AlignmentLink& link : pair.alignment) {
      map.gold.push_back({link.target, link.source});
    }
  }
  return map;
}

std::vector<SentencePair> TranslationTask::ShownPairs() const {
  const TranslationData& data = model_.data();
  std::vector<SentencePair> shown = samples_;
  for (const auto* split : {&data.test, &data.test_apart, &data.dev}) {
    for (const SentencePair& pair : *split) {
      if (shown.size() == kMostSamples) break;
      shown.push_back(pair);
    }
  }
  return shown;
}

std::vector<Translation> TranslationTask::Translate(
    Forward<float>& forward, absl::Span<const SentencePair> pairs) const {
  std::vector<std::vector<std::string>> sources;
  for (const SentencePair& pair : pairs) sources.push_back(pair.source);
  std::vector<Translation> best;
  for (auto& translations : model_.translator().Translate(
           forward, sources, search_, /*want_weights=*/true)) {
    best.push_back(std::move(translations.front()));
  }
  return best;
}

// Of the sentences of the heat maps: why the model chose its own words.
std::vector<Explanation> TranslationTask::Explain() const {
  std::vector<Explanation> explanations;
  if (!model_.has_attention()) return explanations;
  const Translator& translator = model_.translator();
  std::vector<SentencePair> shown = ShownPairs();
  if (shown.size() > kMostHeatMaps) shown.resize(kMostHeatMaps);
  Tape<float> tape;
  Forward<float> forward(tape, translator.parameters(), nullptr);
  const std::vector<Translation> translations = Translate(forward, shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    std::vector<std::string> words = translator.Words(translations[i]);
    words.resize(std::min(words.size(), kMostExplainedWords));
    translator.CutTarget(&words);
    if (words.empty()) continue;
    // Gold links speak of the reference's words.
    const bool right = words == shown[i].target;
    explanations.push_back(ExplanationOf(
        Inspect(translator, shown[i].source, words,
                right ? shown[i].alignment : std::vector<AlignmentLink>())));
  }
  return explanations;
}

Showcase TranslationTask::Show(Forward<float>& forward, bool final) const {
  const TranslationData& data = model_.data();
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Translation: %d sentence pairs to learn from, %d source and %d target "
      "words.",
      data.train.size(), model_.translator().source_vocabulary().size(),
      model_.translator().target_vocabulary().size());
  showcase.samples.title = "Translations";
  showcase.samples.input = "source";
  showcase.heat_map_caption =
      "Attention: each word on the left looks at the words above";
  const std::vector<SentencePair> shown = ShownPairs();
  const std::vector<Translation> translations = Translate(forward, shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::vector<std::string> words =
        model_.translator().Words(translations[i]);
    showcase.samples.rows.push_back(
        {.input = absl::StrJoin(shown[i].source, " "),
         .reference = absl::StrJoin(shown[i].target, " "),
         .output = absl::StrJoin(words, " "),
         .correct = words == shown[i].target});
    if (!translations[i].weights.empty() &&
        showcase.heat_maps.size() < kMostHeatMaps) {
      showcase.heat_maps.push_back(HeatMap(shown[i], translations[i]));
    }
  }
  for (const auto& [name, split] :
       {std::pair<const char*, const std::vector<SentencePair>*>{
            "test/alignment_error_rate", &data.test},
        {"test/alignment_error_rate_apart", &data.test_apart}}) {
    if (split->empty() || split->front().alignment.empty()) continue;
    showcase.notes[name] =
        absl::StrFormat("of a diagonal: %.3f", DiagonalErrorRate(*split));
  }
  if (final) showcase.explanations = Explain();
  return showcase;
}

}  // namespace

void RegisterTranslation(Plugins& plugins) {
  RegisterSentenceSources(plugins.data);
  plugins.tasks.Add<RecurrentTranslation>("translation by a recurrent decoder");
  plugins.tasks.Add<TransformerTranslation>("translation by a Transformer");
}

}  // namespace regard
