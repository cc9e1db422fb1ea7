#include "data/phrasebook/phrasebook.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/phrasebook/phrasebook_rendering.h"
#include "data/phrasebook/phrasebook_sketch.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

using phrasebook::Construction;
using phrasebook::Language;
using phrasebook::PhrasebookRandom;
using phrasebook::PhrasebookSentence;

// The limits of sentence lengths, in tokens including the final punctuation.
constexpr int kMinPhrasebookLength = 3;
constexpr int kMaxPhrasebookLength = 14;
// The number of draws without a new sentence after which the search fails.
constexpr int kMaxFruitlessDraws = 1000000;

// Whether a noun or name occurs twice. `john sees john` would be about two
// Johns.
bool RepeatsNoun(std::vector<absl::string_view> nouns) {
  std::sort(nouns.begin(), nouns.end());
  return std::adjacent_find(nouns.begin(), nouns.end()) != nouns.end();
}

bool HasLength(const std::vector<std::string>& words) {
  const int length = static_cast<int>(words.size());
  return kMinPhrasebookLength <= length && length <= kMaxPhrasebookLength;
}

// Draws a construction by its weight, then the words of the sentence. Repeats
// this until both sides have a permitted length and no noun occurs twice.
PhrasebookSentence DrawSentence(PhrasebookRandom& random) {
  const Language& language = Language::Embedded();
  while (true) {
    const Construction& construction =
        phrasebook::DrawConstruction(language, random);
    PhrasebookSentence sentence = phrasebook::Render(
        phrasebook::DrawSketch(construction, language, random), language);
    if (!RepeatsNoun(sentence.nouns) && HasLength(sentence.pair.source) &&
        HasLength(sentence.pair.target)) {
      return sentence;
    }
  }
}

// Returns `they are watching .`, the first sentence of the phrasebook.
PhrasebookSentence TheyAreWatching() {
  const Language& language = Language::Embedded();
  const phrasebook::Grammar& grammar = language.grammar();
  const Construction& construction = grammar.construction(0);
  phrasebook::Sketch sketch;
  sketch.construction = &construction;
  sketch.english = &construction.english();
  sketch.french = &construction.french();
  sketch.verb = &phrasebook::FindWord(grammar.verb(), "watch");
  sketch.phrases[phrasebook::SUBJECT] = {
      .pronoun = &phrasebook::FindWord(grammar.pronoun(), "they")};
  return phrasebook::Render(sketch, language);
}

enum class Meeting { kNone, kByChance, kInRole };

// Returns whether and how a held-out pair of words occurs in this sentence.
Meeting MeetingOf(const PhrasebookSentence& sentence,
                  const PhrasebookOptions& options) {
  for (const auto& [noun, word] : sentence.pairs) {
    if (IsHeldOut(noun, word, options)) return Meeting::kInRole;
  }
  for (absl::string_view noun : sentence.nouns) {
    for (absl::string_view word : sentence.words) {
      if (IsHeldOut(noun, word, options)) return Meeting::kByChance;
    }
  }
  return Meeting::kNone;
}

class Splitter {
 public:
  explicit Splitter(const PhrasebookOptions& options)
      : options_(options), random_(options.seed) {
    const int largest =
        std::max({options.dev, options.test_unseen, options.test_unseen_pairs});
    if (largest > 0) {
      REGARD_CHECK_GE(options.train, kMinPhrasebookTrain);
      REGARD_CHECK_GE(options.train, largest / kMaxPhrasebookRatio);
    }
  }

  Phrasebook Run() {
    const PhrasebookSentence first = TheyAreWatching();
    IsNew(first);
    if (options_.train > 0) AddToTrain(first);
    Fill(options_.train, Meeting::kNone, book_.train);
    Fill(options_.dev, Meeting::kNone, book_.dev);
    Fill(options_.test_unseen, Meeting::kNone, book_.test_unseen);
    Fill(options_.test_unseen_pairs, Meeting::kInRole, book_.test_unseen_pairs);
    return std::move(book_);
  }

 private:
  static void Add(const PhrasebookSentence& sentence, PhrasebookPart& split) {
    split.pairs.push_back(sentence.pair);
    split.constructions.push_back(sentence.construction);
  }

  void AddToTrain(const PhrasebookSentence& sentence) {
    Add(sentence, book_.train);
    source_words_.insert(sentence.pair.source.begin(),
                         sentence.pair.source.end());
    target_words_.insert(sentence.pair.target.begin(),
                         sentence.pair.target.end());
  }

  bool IsNew(const PhrasebookSentence& sentence) {
    return seen_.insert(absl::StrJoin(sentence.pair.source, " ")).second;
  }

  // Draws a sentence that was not drawn before, and whose MeetingOf() is
  // `meeting`.
  PhrasebookSentence DrawNew(Meeting meeting) {
    for (int i = 0; i < kMaxFruitlessDraws; ++i) {
      PhrasebookSentence sentence = DrawSentence(random_);
      if (MeetingOf(sentence, options_) == meeting && IsNew(sentence)) {
        return sentence;
      }
    }
    REGARD_CHECK(false) << "the grammar has no more sentences after "
                        << seen_.size();
    return {};
  }

  // Splits other than `train` get only sentences whose words occur in `train`.
  void Fill(int size, Meeting meeting, PhrasebookPart& split) {
    while (static_cast<int>(split.pairs.size()) < size) {
      const PhrasebookSentence sentence = DrawNew(meeting);
      if (&split == &book_.train) {
        AddToTrain(sentence);
      } else if (IsKnown(sentence.pair.source, source_words_) &&
                 IsKnown(sentence.pair.target, target_words_)) {
        Add(sentence, split);
      }
    }
  }

  static bool IsKnown(const std::vector<std::string>& words,
                      const absl::flat_hash_set<std::string>& known) {
    return std::all_of(words.begin(), words.end(),
                       [&](const auto& word) { return known.contains(word); });
  }

  PhrasebookOptions options_;
  PhrasebookRandom random_;
  Phrasebook book_;
  absl::flat_hash_set<std::string> seen_;  // English sentences
  absl::flat_hash_set<std::string> source_words_;
  absl::flat_hash_set<std::string> target_words_;
};

}  // namespace

bool IsHeldOut(absl::string_view noun, absl::string_view word,
               const PhrasebookOptions& options) {
  uint64_t bits = options.seed;
  for (const char letter : absl::StrCat(noun, " ", word)) {
    bits = phrasebook::MixBits(bits + static_cast<unsigned char>(letter) +
                               0x9e3779b97f4a7c15u);
  }
  return static_cast<int>(bits % 100) < options.apart_percent;
}

Phrasebook MakePhrasebook(const PhrasebookOptions& options) {
  return Splitter(options).Run();
}

}  // namespace regard
