#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "attention/attention.pb.h"
#include "autodiff/tape.h"
#include "data/pairs/sentence_source.h"
#include "data/text/vocabulary.h"
#include "experiments/tasks/plugins.h"
#include "experiments/tasks/task.h"
#include "experiments/tasks/translation/encoder_decoder_of.h"
#include "experiments/tasks/translation/inspection.h"
#include "google/protobuf/message.h"
#include "nn/config_problems.h"
#include "nn/evaluated_set.h"
#include "nn/option_registry.h"
#include "seq2seq/decoding/search.pb.h"
#include "seq2seq/encoder_decoder.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/metrics/bleu.h"
#include "seq2seq/metrics/chrf.h"
#include "seq2seq/metrics/ter.h"
#include "seq2seq/seq2seq_validation.h"
#include "seq2seq/translation_model.h"

namespace regard {

namespace {

// The report shows so many sentences of the test split.
constexpr size_t kMostSamples = 12;
// Sentences of raw text are shown up to this length.
constexpr size_t kMostShownTokens = 200;
constexpr size_t kMostHeatMaps = 6;
// Each takes a pass over all words before it.
constexpr size_t kMostExplainedWords = 40;

// How `config` wants its loss, and its seed.
TranslationOptions OptionsOf(const Experiment& config,
                             const SentenceData& data) {
  TranslationOptions options;
  options.loss = LossOptionsOf(config.loss());
  options.cut_tokens = data.cut_tokens;
  options.tokenizers = data.tokenizers;
  options.seed = config.seed();
  options.search = config.search();
  return options;
}

bool SharesEmbeddings(const ModelConfig& model) {
  return TransformerOfDecoder(EncoderDecoderOf(model)).tied_embeddings() ==
         TransformerConfig::SOURCE_TARGET_OUTPUT;
}

// Source and target have one vocabulary if they share an embedding.
std::pair<Vocabulary, Vocabulary> VocabulariesOf(const SentenceData& data,
                                                 const ModelConfig& model) {
  if (data.source_vocabulary.has_value()) {
    return {*data.source_vocabulary, *data.target_vocabulary};
  }
  const TokenizedCorpus& train = data.train;
  const int64_t min_frequency = data.min_frequency;
  if (SharesEmbeddings(model)) {
    const Vocabulary shared = train.SharedVocabulary(min_frequency);
    return {shared, shared};
  }
  return {train.SourceVocabulary(min_frequency),
          train.TargetVocabulary(min_frequency)};
}

// Encodes the training split; `data` has it no longer.
TranslationData Encode(SentenceData& data,
                       const std::pair<Vocabulary, Vocabulary>& vocabularies) {
  TranslationData encoded;
  encoded.train =
      std::move(data.train)
          .Encode(vocabularies.first, vocabularies.second, data.cut_tokens);
  encoded.sampler = std::move(data.sampler);
  encoded.dev = std::move(data.dev);
  encoded.tests = std::move(data.tests);
  return encoded;
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
  bool has_dev() const override { return !model_.data().dev.empty(); }
  void ValidateData(ConfigProblems& problems) const override;
  Showcase Show(Forward<float>& forward, bool final) const override;

  std::map<std::string, std::string> Files() const override {
    std::map<std::string, std::string> files = files_;
    const Translator& translator = model_.translator();
    files["source_vocabulary.txt"] = translator.source_vocabulary().ToText();
    files["target_vocabulary.txt"] = translator.target_vocabulary().ToText();
    return files;
  }
  std::vector<std::string> Notes() const override { return notes_; }
  std::map<std::string, std::string> Signatures() const override {
    return model_.Signatures();
  }

 private:
  TranslationTask(const std::pair<Vocabulary, Vocabulary>& vocabularies,
                  Data&& data, const TaskContext& context)
      : Task(Metrics(), std::move(data.digests)),
        search_(context.config.search()),
        config_(context.config.model()),
        files_(std::move(data.files)),
        notes_(std::move(data.notes)),
        samples_(std::move(data.samples)),
        model_(EncoderDecoderOf(config_), context.scorers, vocabularies.first,
               vocabularies.second, Encode(data, vocabularies),
               OptionsOf(context.config, data)) {}

  void ValidateSamples(ConfigProblems& problems) const;
  std::vector<SentencePair> ShownPairs() const;
  std::vector<Translation> Translate(
      Forward<float>& forward, absl::Span<const SentencePair> pairs) const;
  LabelledMatrix HeatMap(const SentencePair& pair,
                         const Translation& translation) const;
  std::vector<Explanation> Explain() const;

  const SearchConfig search_;
  const ModelConfig config_;
  const std::map<std::string, std::string> files_;
  const std::vector<std::string> notes_;
  std::vector<SentencePair> samples_;
  TranslationModel model_;
};

// A recurrent encoder and decoder.
class RecurrentTranslation : public TranslationTask {
 public:
  using Options = RecurrentDecoderConfig;
  // `alignment` is there for the message that says whose it is.
  static constexpr const char* kParts[] = {"attention", "encoder",
                                           "transformer_encoder", "alignment"};

  RecurrentTranslation(const Options&, Data data, const TaskContext& context)
      : TranslationTask(std::move(data), context) {}
};

class TransformerTranslation : public TranslationTask {
 public:
  using Options = TransformerConfig;
  // `attention` is there for the message that says where it belongs.
  static constexpr const char* kParts[] = {"attention", "encoder",
                                           "transformer_encoder",
                                           "transformer_decoder", "alignment"};

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
  ValidateSamples(problems);
  const EncoderDecoder<float>& model = model_.translator().model();
  const SequenceLengths longest = model_.LongestSentences();
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
  check(model.encoder->longest_position(), longest[0], "source",
        config_.has_transformer_encoder() ? "transformer_encoder"
                                          : "transformer");
  check(model.decoder->longest_memory(), longest[0], "source",
        PathOfDecoder(config_));
  check(model.decoder->longest_position(), longest[1], "target",
        PathOfDecoder(config_));
}

// Those of raw text are in no split. Their references are not encoded.
void TranslationTask::ValidateSamples(ConfigProblems& problems) const {
  for (size_t i = 0; i < samples_.size(); ++i) {
    const absl::Status fits =
        model_.translator().CheckSource(samples_[i].source);
    if (fits.ok()) continue;
    problems.Add(absl::StrCat("data.pairs.samples[", i, "].source"),
                 std::string(fits.message()));
  }
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
      {"chrf++", "0 to 100",
       "overlap of character and word sequences with the reference",
       Better::kHigher},
      {"ter", "percent",
       "edits, shifts included, that make a translation the reference, by its "
       "words",
       Better::kLower},
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
  metrics.push_back(
      {"d2l_loss", "nats per token and step",
       "cross-entropy of a token, divided by cut_tokens: what Dive "
       "into Deep Learning prints as its loss",
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
  const PairsConfig& pairs = context.config.data().pairs();
  if (SharesEmbeddings(context.config.model()) && pairs.has_subwords() &&
      !pairs.subwords().joint()) {
    problems.Add("",
                 "tied_embeddings: SOURCE_TARGET_OUTPUT needs one vocabulary "
                 "of both sides: data.pairs.subwords.joint: true");
  }
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
  map.title = model_.translator().SourceText(pair.source);
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
  std::vector<const EvaluationSet*> sets;
  for (const EvaluationSet& test : data.tests) sets.push_back(&test);
  sets.push_back(&data.dev);
  for (const EvaluationSet* set : sets) {
    for (const SentencePair& pair : set->pairs) {
      if (shown.size() == kMostSamples) break;
      // Raw text may have lines without text, and lines too long to be drawn.
      if (!pair.source.empty() && pair.source.size() <= kMostShownTokens &&
          pair.target.size() <= kMostShownTokens) {
        shown.push_back(pair);
      }
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

// Explains why the model chose its words in the sentences of the heat maps.
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
  const Translator& translator = model_.translator();
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Translation: %d sentence pairs to learn from, %d source and %d target "
      "%s.",
      data.train.size(), translator.source_vocabulary().size(),
      translator.target_vocabulary().size(),
      translator.tokenizers().target == nullptr ? "words" : "subwords");
  for (const std::string& note : notes_) {
    absl::StrAppend(&showcase.summary, " ", note, ".");
  }
  showcase.samples.title = "Translations";
  showcase.samples.input = "source";
  showcase.heat_map_caption =
      "Attention: each word on the left looks at the words above";
  const std::vector<SentencePair> shown = ShownPairs();
  const std::vector<Translation> translations = Translate(forward, shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::vector<std::string> words = translator.Words(translations[i]);
    showcase.samples.rows.push_back(
        {.input = translator.SourceText(shown[i].source),
         .reference = translator.TargetText(shown[i].target),
         .output = translator.TargetText(words),
         .correct = words == shown[i].target});
    if (!translations[i].weights.empty() &&
        showcase.heat_maps.size() < kMostHeatMaps) {
      showcase.heat_maps.push_back(HeatMap(shown[i], translations[i]));
    }
  }
  for (const EvaluationSet& test : data.tests) {
    if (test.empty() || test.pairs.front().alignment.empty()) continue;
    showcase.notes[absl::StrCat("test", test.name.empty() ? "" : ".", test.name,
                                "/alignment_error_rate", test.suffix)] =
        absl::StrFormat("of a diagonal: %.3f", DiagonalErrorRate(test.pairs));
  }
  if (final) showcase.explanations = Explain();
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
