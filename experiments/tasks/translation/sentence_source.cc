#include "experiments/tasks/translation/sentence_source.h"

#include <algorithm>
#include <any>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "experiments/data/phrasebook.h"
#include "experiments/run/file.h"
#include "experiments/tasks/translation/corpus.h"
#include "experiments/tasks/translation/synthetic.h"
#include "seq2seq/vocabulary.h"
#include "third_party/abseil_backport/status_macros.h"

namespace regard {

std::vector<AlignmentLink> SentenceSource::GoldLinks(
    const DataRequest& request, const std::vector<std::string>& source,
    const std::vector<std::string>& target) const {
  const absl::StatusOr<SentenceData> data = Load(request);
  if (!data.ok()) return {};
  const TranslationData& splits = data->splits;
  for (const auto* split :
       {&splits.train, &splits.dev, &splits.test, &splits.test_apart}) {
    for (const SentencePair& pair : *split) {
      if (pair.source == source && pair.target == target) return pair.alignment;
    }
  }
  return {};
}

std::unique_ptr<SentenceSource> SentenceSourceOf(const Experiment& config,
                                                 const Plugins& plugins) {
  std::unique_ptr<AnyDataSource> source = plugins.data.Create(config.data());
  auto* sentences = dynamic_cast<SentenceSource*>(source.get());
  if (sentences != nullptr) source.release();
  return std::unique_ptr<SentenceSource>(sentences);
}

namespace {

// The sizes of the splits of a source that generates its sentences.
void ValidateSplits(const auto& options, ConfigProblems& problems) {
  problems.RequireInRange("train", options.train(), 1, 1e6);
  problems.RequireInRange("dev", options.dev(), 0, 1e6);
  problems.RequireInRange("test", options.test(), 1, 1e6);
}

class PhrasebookSource : public SentenceSource {
 public:
  using Options = PhrasebookConfig;

  static void Validate(const Options& options, ConfigProblems& problems) {
    // The other splits use words of train alone.
    problems.RequireInRange("train", options.train(), kMinPhrasebookTrain, 1e6);
    const double largest =
        std::min(1e6, 1.0 * kMaxPhrasebookRatio *
                          std::max(options.train(), kMinPhrasebookTrain));
    problems.RequireInRange("dev", options.dev(), 0, largest);
    problems.RequireInRange("test", options.test(), 1, largest);
    problems.RequireInRange("test_apart", options.test_apart(), 1, largest);
  }

  explicit PhrasebookSource(const Options& options) : options_(options) {}

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    Phrasebook phrasebook =
        MakePhrasebook({.seed = request.seed,
                        .train = options_.train(),
                        .dev = options_.dev(),
                        .test_unseen = options_.test(),
                        .test_apart = options_.test_apart()});
    SentenceData data;
    data.splits = {std::move(phrasebook.train.pairs),
                   std::move(phrasebook.dev.pairs),
                   std::move(phrasebook.test_unseen.pairs),
                   std::move(phrasebook.test_apart.pairs)};
    if (options_.reversed()) {
      for (auto* split : {&data.splits.train, &data.splits.dev,
                          &data.splits.test, &data.splits.test_apart}) {
        Reverse(*split);
      }
    }
    // The sentence that every attention model learns first.
    data.samples.push_back(data.splits.train.front());
    return data;
  }

 private:
  static void Reverse(std::vector<SentencePair>& pairs) {
    for (SentencePair& pair : pairs) {
      std::swap(pair.source, pair.target);
      for (AlignmentLink& link : pair.alignment) {
        std::swap(link.source, link.target);
      }
      std::sort(pair.alignment.begin(), pair.alignment.end());
    }
  }

  const Options options_;
};

class PairsSource : public SentenceSource {
 public:
  using Options = PairsConfig;
  static constexpr DataPath kPath = DataPath::kRequired;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.RequireInRange("source_column", options.source_column(), 0, 63);
    problems.RequireInRange("target_column", options.target_column(), 0, 63);
    problems.RequireInRange("max_pairs",
                            static_cast<double>(options.max_pairs()), 0, 1e9);
    problems.RequireInRange("min_frequency", options.min_frequency(), 1, 1e6);
    problems.RequireInRange("num_steps", options.num_steps(), 0, 1e4);
    problems.RequireInRange(
        "dev_pairs", static_cast<double>(options.dev_pairs()), 0,
        options.max_pairs() > 0 ? static_cast<double>(options.max_pairs() - 1)
                                : 1e9);
  }

  explicit PairsSource(const Options& options) : options_(options) {}

  int64_t num_steps() const override { return options_.num_steps(); }

  // A corpus has no gold links; it need not be there any more.
  std::vector<AlignmentLink> GoldLinks(
      const DataRequest&, const std::vector<std::string>&,
      const std::vector<std::string>&) const override {
    return {};
  }

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    REGARD_ASSIGN_OR_RETURN(
        Corpus corpus, ReadCorpus(ResolveUserPath(request.path),
                                  {.source_column = options_.source_column(),
                                   .target_column = options_.target_column(),
                                   .max_pairs = options_.max_pairs()}));
    std::vector<SentencePair>& pairs = corpus.pairs;
    SentenceData data;
    data.num_steps = options_.num_steps();
    data.min_frequency = options_.min_frequency();
    const auto dev = static_cast<size_t>(options_.dev_pairs());
    if (dev >= pairs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          request.path, ": error: ", pairs.size(),
          " pairs leave nothing to train on when ", dev, " are kept for dev"));
    }
    data.splits.dev.assign(pairs.end() - static_cast<int64_t>(dev),
                           pairs.end());
    pairs.resize(pairs.size() - dev);
    data.splits.train = std::move(pairs);
    for (const SamplePair& sample : options_.samples()) {
      data.splits.test.push_back({SplitTokens(PrepareText(sample.source())),
                                  SplitTokens(PrepareText(sample.reference())),
                                  {}});
    }
    data.digests["data.path"] = corpus.sha256;
    return data;
  }

 private:
  const Options options_;
};

SentenceData SentencesOf(const SequenceTask& task, uint64_t seed) {
  SequenceData sequences = MakeSequences(task, seed);
  SentenceData data;
  data.splits = {std::move(sequences.train), std::move(sequences.dev),
                 std::move(sequences.test), std::move(sequences.test_apart)};
  return data;
}

template <typename Options>
void ValidateApart(const Options& options, ConfigProblems& problems) {
  problems.RequireInRange("max_apart_length", options.max_apart_length(), 0,
                          1e4);
  if (options.max_apart_length() == 0) return;
  problems.RequireInRange("min_apart_length", options.min_apart_length(), 1,
                          options.max_apart_length());
}

// As many pairs as the other test split has.
template <typename Options>
SequenceSplit ApartOf(const Options& options) {
  if (options.max_apart_length() == 0) return {};
  return {options.test(), options.min_apart_length(),
          options.max_apart_length()};
}

class ReverseSource : public SentenceSource {
 public:
  using Options = ReverseConfig;

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidateSplits(options, problems);
    problems.RequireInRange("symbols", options.symbols(), 1, 1e5);
    problems.RequireInRange("max_length", options.max_length(), 1, 1e4);
    problems.RequireInRange("max_test_length", options.max_test_length(), 1,
                            1e4);
    ValidateApart(options, problems);
  }

  explicit ReverseSource(const Options& options) : options_(options) {}

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    SequenceTask task = ReverseTask();
    task.symbols = options_.symbols();
    task.train = {options_.train(), 1, options_.max_length()};
    task.dev = {options_.dev(), 1, options_.max_test_length()};
    task.test = {options_.test(), 1, options_.max_test_length()};
    task.test_apart = ApartOf(options_);
    return SentencesOf(task, request.seed);
  }

  std::vector<AlignmentLink> GoldLinks(
      const DataRequest&, const std::vector<std::string>& source,
      const std::vector<std::string>& target) const override {
    std::vector<AlignmentLink> links;
    const auto words = static_cast<int>(target.size());
    if (std::equal(source.rbegin(), source.rend(), target.begin(),
                   target.end())) {
      for (int u = 0; u < words; ++u) links.push_back({u, words - 1 - u});
    }
    return links;
  }

 private:
  const Options options_;
};

class CopySource : public SentenceSource {
 public:
  using Options = CopyConfig;

  static void Validate(const Options& options, ConfigProblems& problems) {
    ValidateSplits(options, problems);
    problems.RequireInRange("symbols", options.symbols(), 1, 1e5);
    problems.RequireInRange("min_length", options.min_length(), 1, 1e4);
    problems.RequireInRange("max_length", options.max_length(),
                            options.min_length(), 1e4);
    ValidateApart(options, problems);
  }

  explicit CopySource(const Options& options) : options_(options) {}

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    SequenceTask task = CopyTask();
    task.symbols = options_.symbols();
    task.train = {options_.train(), options_.min_length(),
                  options_.max_length()};
    task.dev = {options_.dev(), options_.min_length(), options_.max_length()};
    task.test = {options_.test(), options_.min_length(), options_.max_length()};
    task.test_apart = ApartOf(options_);
    return SentencesOf(task, request.seed);
  }

  std::vector<AlignmentLink> GoldLinks(
      const DataRequest&, const std::vector<std::string>& source,
      const std::vector<std::string>& target) const override {
    std::vector<AlignmentLink> links;
    if (source != target) return links;
    for (int u = 0; u < static_cast<int>(target.size()); ++u) {
      links.push_back({u, u});
    }
    return links;
  }

 private:
  const Options options_;
};

class PlaceholderSource : public SentenceSource {
 public:
  using Options = PlaceholderConfig;
  static constexpr DataPath kPath = DataPath::kIgnored;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.RequireInRange("source_vocabulary", options.source_vocabulary(),
                            Vocabulary::kReserved + 1, 1e7);
    problems.RequireInRange("target_vocabulary", options.target_vocabulary(),
                            Vocabulary::kReserved + 1, 1e7);
    problems.RequireInRange("source_words", options.source_words(), 1, 1e4);
    problems.RequireInRange("target_words", options.target_words(), 1, 1e4);
    problems.RequireInRange("pairs", options.pairs(), 1, 1e6);
  }

  explicit PlaceholderSource(const Options& options) : options_(options) {}

  // The pairs go through both vocabularies; one of all words, which no split
  // shows, makes them complete.
  absl::StatusOr<SentenceData> Load(const DataRequest&) const override {
    SentenceData data;
    for (int i = 0; i < options_.pairs(); ++i) {
      data.splits.train.push_back(
          {Words(i, options_.source_words(), options_.source_vocabulary()),
           Words(i, options_.target_words(), options_.target_vocabulary()),
           {}});
    }
    data.further_words = {AllWords(options_.source_vocabulary()),
                          AllWords(options_.target_vocabulary()),
                          {}};
    return data;
  }

 private:
  static std::vector<std::string> Words(int first, int count, int vocabulary) {
    const int choices = vocabulary - Vocabulary::kReserved;
    std::vector<std::string> words;
    for (int i = 0; i < count; ++i) {
      words.push_back(
          absl::StrCat(Vocabulary::kReserved + (first + i) % choices));
    }
    return words;
  }

  static std::vector<std::string> AllWords(int vocabulary) {
    return Words(0, vocabulary - Vocabulary::kReserved, vocabulary);
  }

  const Options options_;
};

}  // namespace

void RegisterSentenceSources(DataSourceRegistry& sources) {
  sources.Add<PhrasebookSource>(
      "English and French from a grammar, with gold alignments");
  sources.Add<PairsSource>("the lines of a tab-separated file");
  sources.Add<ReverseSource>("numbers, and the same backwards");
  sources.Add<CopySource>("numbers, and the same again");
  sources.Add<PlaceholderSource>("pairs of given sizes, for //tools:plan");
}

}  // namespace regard
