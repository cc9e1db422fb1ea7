#include "data/pairs/sentence_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"
#include "data/data.pb.h"
#include "data/made_words.h"
#include "data/phrasebook/phrasebook.h"

namespace regard {

std::unique_ptr<SentenceSource> SentenceSourceOf(
    const Data& config, const DataSourceRegistry& sources) {
  std::unique_ptr<AnyDataSource> source = sources.Create(config);
  auto* sentences = dynamic_cast<SentenceSource*>(source.get());
  if (sentences != nullptr) source.release();
  return std::unique_ptr<SentenceSource>(sentences);
}

namespace {

class PhrasebookSource : public WithOptions<SentenceSource, PhrasebookConfig> {
 public:
  using WithOptions::WithOptions;

  static void Validate(const Options& options, ConfigProblems& problems) {
    // The other splits use only words of `train`, so `train` limits their
    // sizes.
    problems.RequireInRange("train", options.train(), kMinPhrasebookTrain, 1e6);
    const double largest =
        std::min(1e6, 1.0 * kMaxPhrasebookRatio *
                          std::max(options.train(), kMinPhrasebookTrain));
    problems.RequireInRange("dev", options.dev(), 0, largest);
    problems.RequireInRange("test", options.test(), 0, largest);
    problems.RequireInRange("test_unseen_pairs", options.test_unseen_pairs(), 0,
                            largest);
  }

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    Phrasebook phrasebook = Make(request);
    SentenceData data;
    data.tokenizers.rules.words = words();
    for (const SentencePair& pair : phrasebook.train.pairs) {
      data.train.Add(pair.source, pair.target);
    }
    data.dev.pairs = std::move(phrasebook.dev.pairs);
    data.tests = {{.pairs = std::move(phrasebook.test_unseen.pairs)},
                  {.pairs = std::move(phrasebook.test_unseen_pairs.pairs),
                   .suffix = "_apart"}};
    // The first sentence is `they are watching .`.
    data.samples.push_back(phrasebook.train.pairs.front());
    return data;
  }

  WordPreparation words() const override { return WordPreparation::kGenerated; }

  // Searches for the pair in all splits.
  std::vector<AlignmentLink> GoldLinks(
      const DataRequest& request, const std::vector<std::string>& source,
      const std::vector<std::string>& target) const override {
    const Phrasebook phrasebook = Make(request);
    for (const auto* split :
         {&phrasebook.train, &phrasebook.dev, &phrasebook.test_unseen,
          &phrasebook.test_unseen_pairs}) {
      for (const SentencePair& pair : split->pairs) {
        if (pair.source == source && pair.target == target) {
          return pair.alignment;
        }
      }
    }
    return {};
  }

 private:
  Phrasebook Make(const DataRequest& request) const {
    Phrasebook phrasebook =
        MakePhrasebook({.seed = request.seed,
                        .train = options_.train(),
                        .dev = options_.dev(),
                        .test_unseen = options_.test(),
                        .test_unseen_pairs = options_.test_unseen_pairs()});
    if (options_.reversed()) {
      for (auto* split :
           {&phrasebook.train, &phrasebook.dev, &phrasebook.test_unseen,
            &phrasebook.test_unseen_pairs}) {
        Reverse(split->pairs);
      }
    }
    return phrasebook;
  }

  static void Reverse(std::vector<SentencePair>& pairs) {
    for (SentencePair& pair : pairs) {
      std::swap(pair.source, pair.target);
      for (AlignmentLink& link : pair.alignment) {
        std::swap(link.source, link.target);
      }
      std::sort(pair.alignment.begin(), pair.alignment.end());
    }
  }
};

// Sequences of uniform numbers below `symbols`, to be copied or reversed, with
// gold alignments. Lengths are also drawn uniformly. Longer sequences are more
// difficult.
template <typename Config, bool kReversed>
class SequenceSource : public WithOptions<SentenceSource, Config> {
 public:
  using WithOptions<SentenceSource, Config>::WithOptions;

  static void Validate(const Config& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    if constexpr (!kReversed) {
      problems.RequireInRange("max_length", options.max_length(),
                              options.min_length(), 1e4);
    }
    double tested = options.max_length();
    if constexpr (kReversed) tested = options.max_test_length();
    CheckWordCount(2 * (1.0 * options.train() * options.max_length() +
                        (1.0 * options.dev() + options.test()) * tested +
                        1.0 * options.test() * options.max_apart_length()),
                   "train", problems);
    if (options.max_apart_length() == 0) return;
    problems.RequireInRange("min_apart_length", options.min_apart_length(), 1,
                            options.max_apart_length());
  }

  absl::StatusOr<SentenceData> Load(const DataRequest& request) const override {
    const Config& options = this->options_;
    int64_t least = 1;
    const int64_t most = options.max_length();
    int64_t most_tested = most;
    if constexpr (kReversed) {
      most_tested = options.max_test_length();
    } else {
      least = options.min_length();
    }
    const auto make = [&](const char* split, int64_t count, int64_t shortest,
                          int64_t longest) {
      return MakePairs({request.seed, absl::StrCat("data/sequences/", split)},
                       count, shortest, longest);
    };
    SentenceData data;
    for (const SentencePair& pair :
         make("train", options.train(), least, most)) {
      data.train.Add(pair.source, pair.target);
    }
    data.dev.pairs = make("dev", options.dev(), least, most_tested);
    // The second test split has as many pairs as the first.
    const bool apart = options.max_apart_length() > 0;
    data.tests = {
        {.pairs = make("test", options.test(), least, most_tested)},
        {.pairs = make("test_apart", apart ? options.test() : 0,
                       options.min_apart_length(), options.max_apart_length()),
         .suffix = "_apart"}};
    return data;
  }

  std::vector<AlignmentLink> GoldLinks(
      const DataRequest&, const std::vector<std::string>& source,
      const std::vector<std::string>& target) const override {
    return Links(source, target);
  }

 private:
  // A pair depends only on `random`, its position, the symbols and the lengths.
  // With a larger number of pairs, the first pairs therefore stay the same.
  std::vector<SentencePair> MakePairs(const RandomStream& random, int64_t count,
                                      int64_t least, int64_t most) const {
    std::vector<SentencePair> pairs;
    for (int64_t i = 0; i < count; ++i) {
      // Every pair reserves random numbers for its length and for the longest
      // sequence.
      uint64_t index = static_cast<uint64_t>(i) * (most + 1);
      const uint64_t length =
          least + random.UniformIntAt(index++, most - least + 1);
      SentencePair& pair = pairs.emplace_back();
      for (uint64_t j = 0; j < length; ++j) {
        pair.source.push_back(absl::StrCat(
            random.UniformIntAt(index++, this->options_.symbols())));
      }
      pair.target = pair.source;
      if (kReversed) std::reverse(pair.target.begin(), pair.target.end());
      pair.alignment = Links(pair.source, pair.target);
    }
    return pairs;
  }

  // Returns no alignments if `target` is not the copied or reversed `source`.
  static std::vector<AlignmentLink> Links(
      const std::vector<std::string>& source,
      const std::vector<std::string>& target) {
    const bool fits = kReversed ? std::equal(source.rbegin(), source.rend(),
                                             target.begin(), target.end())
                                : source == target;
    std::vector<AlignmentLink> links;
    if (!fits) return links;
    const auto length = static_cast<int>(target.size());
    for (int u = 0; u < length; ++u) {
      links.push_back({.target = u, .source = kReversed ? length - 1 - u : u});
    }
    return links;
  }
};

class PlaceholderSource
    : public WithOptions<SentenceSource, PlaceholderConfig> {
 public:
  using WithOptions::WithOptions;
  static constexpr DataPathRequirement kPath = DataPathRequirement::kIgnored;

  static void Validate(const Options& options, ConfigProblems& problems) {
    problems.CheckRanges(options);
    CheckWordCount(options.pairs() *
                       (1.0 * options.source_words() + options.target_words()),
                   "pairs", problems);
  }

  // Adds pairs, and counts all words of both vocabularies. The vocabularies
  // therefore have the configured sizes even if some words occur in no pair.
  absl::StatusOr<SentenceData> Load(const DataRequest&) const override {
    SentenceData data;
    for (int i = 0; i < options_.pairs(); ++i) {
      data.train.Add(
          Words(i, options_.source_words(), options_.source_vocabulary()),
          Words(i, options_.target_words(), options_.target_vocabulary()));
    }
    data.train.AddToVocabularies(AllWords(options_.source_vocabulary()),
                                 AllWords(options_.target_vocabulary()));
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
};

}  // namespace

REGARD_DATA_SOURCES(SentenceSource) {
  sources.Add<PhrasebookSource>(
      "English and French from a grammar, with gold alignments");
  sources.Add<SequenceSource<ReverseConfig, /*kReversed=*/true>>(
      "sequences of numbers; the target is the source reversed");
  sources.Add<SequenceSource<CopyConfig, /*kReversed=*/false>>(
      "sequences of numbers; the target is the source itself");
  sources.Add<PlaceholderSource>("pairs of given sizes, for //tools:plan");
}

}  // namespace regard
