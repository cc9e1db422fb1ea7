#include "experiments/translation_task.h"

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
#include "experiments/config/config_file.h"
#include "experiments/data/corpus.h"
#include "experiments/data/phrasebook.h"
#include "experiments/data/synthetic.h"
#include "experiments/inspection.h"
#include "experiments/run/file.h"
#include "experiments/run/sha256.h"
#include "nn/config_problems.h"
#include "nn/option_registry.h"
#include "seq2seq/metrics/alignment_error_rate.h"
#include "seq2seq/metrics/d2l_bleu.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

namespace {

constexpr int64_t kMostCorpusBytes = int64_t{256} << 20;
// Of the test split, what the report shows.
constexpr size_t kMostSamples = 12;
constexpr size_t kMostHeatMaps = 6;
// Each takes a pass over all words before it.
constexpr size_t kMostExplainedWords = 40;

// Everything that comes of `data` in a config.
struct LoadedData {
  TranslationData sentences;
  std::vector<SentencePair> samples;  // shown, and translated, at the end
  int64_t min_frequency = 1;
  std::map<std::string, std::string> digests;
};

void Reverse(std::vector<SentencePair>& pairs) {
  for (SentencePair& pair : pairs) {
    std::swap(pair.source, pair.target);
    for (AlignmentLink& link : pair.alignment) {
      std::swap(link.source, link.target);
    }
    std::sort(pair.alignment.begin(), pair.alignment.end());
  }
}

LoadedData LoadPhrasebook(const PhrasebookConfig& config, uint64_t seed) {
  PhrasebookOptions options;
  options.seed = seed;
  options.train = config.train();
  options.dev = config.dev();
  options.test_unseen = config.test();
  options.test_apart = config.test_apart();
  Phrasebook phrasebook = MakePhrasebook(options);
  LoadedData loaded;
  loaded.sentences = {std::move(phrasebook.train.pairs),
                      std::move(phrasebook.dev.pairs),
                      std::move(phrasebook.test_unseen.pairs),
                      std::move(phrasebook.test_apart.pairs)};
  if (config.reversed()) {
    Reverse(loaded.sentences.train);
    Reverse(loaded.sentences.dev);
    Reverse(loaded.sentences.test);
    Reverse(loaded.sentences.test_apart);
  }
  // The sentence that every attention model learns first.
  loaded.samples.push_back(loaded.sentences.train.front());
  return loaded;
}

LoadedData LoadSequences(const SequenceTask& task, uint64_t seed) {
  SequenceData data = MakeSequences(task, seed);
  LoadedData loaded;
  loaded.sentences = {
      std::move(data.train), std::move(data.dev), std::move(data.test), {}};
  return loaded;
}

LoadedData LoadReverse(const ReverseConfig& config, uint64_t seed) {
  SequenceTask task = ReverseTask();
  task.symbols = config.symbols();
  task.train = {config.train(), 1, config.max_length()};
  task.dev = {config.dev(), 1, config.max_test_length()};
  task.test = {config.test(), 1, config.max_test_length()};
  return LoadSequences(task, seed);
}

LoadedData LoadCopy(const CopyConfig& config, uint64_t seed) {
  SequenceTask task = CopyTask();
  task.symbols = config.symbols();
  task.train = {config.train(), config.min_length(), config.max_length()};
  task.dev = {config.dev(), config.min_length(), config.max_length()};
  task.test = {config.test(), config.min_length(), config.max_length()};
  return LoadSequences(task, seed);
}

absl::StatusOr<LoadedData> LoadPairs(const std::string& path,
                                     const PairsConfig& config) {
  const std::string resolved = ResolveUserPath(path);
  REGARD_ASSIGN_OR_RETURN(
      std::vector<SentencePair> pairs,
      ReadCorpus(resolved, {.source_column = config.source_column(),
                            .target_column = config.target_column(),
                            .max_pairs = config.max_pairs()}));
  LoadedData loaded;
  loaded.min_frequency = config.min_frequency();
  const auto dev = static_cast<size_t>(config.dev_pairs());
  if (dev >= pairs.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": error: ", pairs.size(),
        " pairs leave nothing to train on when ", dev, " are kept for dev"));
  }
  loaded.sentences.dev.assign(pairs.end() - static_cast<int64_t>(dev),
                              pairs.end());
  pairs.resize(pairs.size() - dev);
  loaded.sentences.train = std::move(pairs);
  for (const SamplePair& sample : config.samples()) {
    loaded.sentences.test.push_back(
        {SplitTokens(PrepareText(sample.source())),
         SplitTokens(PrepareText(sample.reference())),
         {}});
  }
  REGARD_ASSIGN_OR_RETURN(const std::string bytes,
                          ReadFile(resolved, kMostCorpusBytes));
  loaded.digests["data.path"] = Sha256Hex(bytes);
  return loaded;
}

absl::StatusOr<LoadedData> LoadData(const Experiment& config) {
  const Data& data = config.data();
  switch (data.source_case()) {
    case Data::kPairs:
      return LoadPairs(data.path(), data.pairs());
    case Data::kReverse:
      return LoadReverse(data.reverse(), config.seed());
    case Data::kCopy:
      return LoadCopy(data.copy(), config.seed());
    default:
      return LoadPhrasebook(data.phrasebook(), config.seed());
  }
}

// Of source and target.
std::pair<Vocabulary, Vocabulary> VocabulariesOf(const LoadedData& data) {
  VocabularyBuilder source;
  VocabularyBuilder target;
  for (const SentencePair& pair : data.sentences.train) {
    source.Add(pair.source);
    target.Add(pair.target);
  }
  return {source.Build(data.min_frequency), target.Build(data.min_frequency)};
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

class TranslationTask : public Task {
 public:
  TranslationTask(const Experiment& config, const ScorerRegistry& scorers,
                  Vocabulary source, Vocabulary target, LoadedData data)
      : search_(config.search()),
        attention_(config.model().attention()),
        digests_(std::move(data.digests)),
        samples_(std::move(data.samples)),
        model_(config.model().encoder(), config.model().decoder(),
               config.model().attention(), scorers, std::move(source),
               std::move(target), std::move(data.sentences),
               TranslationOptionsOf(config)) {}

  Model<float>& model() override { return model_; }
  void Validate(ConfigProblems& problems) const override;
  Showcase Show(Forward<float>& forward) const override;
  std::vector<Explanation> Explain() const override;

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
  std::vector<SentencePair> ShownPairs() const;
  std::vector<Translation> Translate(
      Forward<float>& forward, absl::Span<const SentencePair> pairs) const;
  LabelledMatrix HeatMap(const SentencePair& pair,
                         const Translation& translation) const;

  const SearchConfig search_;
  const Attention attention_;
  std::map<std::string, std::string> digests_;
  std::vector<SentencePair> samples_;
  TranslationModel model_;
};

// A decoder's query t attends from position t of the target to all positions of
// the source.
void TranslationTask::Validate(ConfigProblems& problems) const {
  const int64_t positions =
      model_.translator().model().decoder->longest_position();
  if (positions == Decoder<float>::kUnlimited) return;
  const int64_t known = positions - 1;
  const int64_t longest = model_.LongestDistance();
  if (longest <= known) return;
  const ConfigProblems::Scope scope(problems, "model.attention");
  problems.Add(
      ChooseOption(attention_,
                   *Attention::descriptor()->FindOneofByName("score"))
          .path,
      absl::StrCat("knows distances between target and source positions up to ",
                   known,
                   "; the longest sentences of the data, <eos> included, "
                   "need ",
                   longest));
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
    if (words.empty()) continue;
    if (words.size() > kMostExplainedWords) words.resize(kMostExplainedWords);
    // Gold links speak of the reference's words.
    const bool right = words == shown[i].target;
    explanations.push_back(ExplanationOf(
        Inspect(translator, shown[i].source, words,
                right ? shown[i].alignment : std::vector<AlignmentLink>())));
  }
  return explanations;
}

Showcase TranslationTask::Show(Forward<float>& forward) const {
  const TranslationData& data = model_.data();
  Showcase showcase;
  showcase.summary = absl::StrFormat(
      "Translation: %d sentence pairs to learn from, %d source and %d target "
      "words.",
      data.train.size(), model_.translator().source_vocabulary().size(),
      model_.translator().target_vocabulary().size());
  const std::vector<SentencePair> shown = ShownPairs();
  const std::vector<Translation> translations = Translate(forward, shown);
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::vector<std::string> words =
        model_.translator().Words(translations[i]);
    showcase.samples.push_back(
        {.source = absl::StrJoin(shown[i].source, " "),
         .reference = absl::StrJoin(shown[i].target, " "),
         .hypothesis = absl::StrJoin(words, " "),
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
  return showcase;
}

}  // namespace

TranslationOptions TranslationOptionsOf(const Experiment& config) {
  using Normalizer = TranslationOptions::Normalizer;
  TranslationOptions options;
  options.normalizer = config.loss().normalizer() == Loss::SUM
                           ? Normalizer::kSum
                       : config.loss().normalizer() == Loss::PER_SEQUENCE
                           ? Normalizer::kPerSequence
                           : Normalizer::kPerToken;
  options.scale = config.loss().scale();
  options.label_smoothing = config.loss().label_smoothing();
  options.num_steps = config.data().pairs().num_steps();
  options.seed = config.seed();
  options.search = config.search();
  return options;
}

absl::StatusOr<TranslationCorpus> LoadTranslationCorpus(
    const Experiment& config) {
  REGARD_ASSIGN_OR_RETURN(LoadedData data, LoadData(config));
  auto [source, target] = VocabulariesOf(data);
  return TranslationCorpus{std::move(data.sentences), std::move(source),
                           std::move(target)};
}

absl::StatusOr<std::unique_ptr<Task>> MakeTranslationTask(
    const Experiment& config, const ScorerRegistry& scorers) {
  REGARD_ASSIGN_OR_RETURN(LoadedData data, LoadData(config));
  auto [source, target] = VocabulariesOf(data);
  return std::make_unique<TranslationTask>(config, scorers, std::move(source),
                                           std::move(target), std::move(data));
}

}  // namespace regard
