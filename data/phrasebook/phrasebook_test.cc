#include "data/phrasebook/phrasebook.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/sentence_pair.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using phrasebook::Language;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

const Phrasebook& DefaultPhrasebook() {
  static const auto* const book = new Phrasebook(MakePhrasebook());
  return *book;
}

std::vector<const PhrasebookPart*> Splits(const Phrasebook& book) {
  return {&book.train, &book.dev, &book.test_unseen, &book.test_unseen_pairs};
}

std::vector<SentencePair> AllPairs(const Phrasebook& book) {
  std::vector<SentencePair> all;
  for (const PhrasebookPart* split : Splits(book)) {
    all.insert(all.end(), split->pairs.begin(), split->pairs.end());
  }
  return all;
}

std::string Text(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ");
}

// Whether no two links cross. The words of both sides are then in the same
// order.
bool IsMonotone(const SentencePair& pair) {
  for (const AlignmentLink& first : pair.alignment) {
    for (const AlignmentLink& second : pair.alignment) {
      if (first.target < second.target && first.source > second.source) {
        return false;
      }
    }
  }
  return true;
}

// Maps each English form of a word to its possible base forms.
using Forms = std::map<std::string, std::set<std::string>>;

// Adds the forms of a word. The first of `words` is the base form.
template <typename Words>
void AddForms(const Words& words, Forms& forms) {
  for (const std::string& form : words) {
    if (!form.empty()) forms[form].insert(words[0]);
  }
}

Forms NounForms() {
  Forms forms;
  const phrasebook::Grammar& grammar = Language::Embedded().grammar();
  for (const phrasebook::Noun& noun : grammar.noun()) {
    AddForms(noun.english(), forms);
  }
  for (const phrasebook::Name& name : grammar.name()) {
    forms[name.english()].insert(name.english());
  }
  return forms;
}

Forms VerbAndAdjectiveForms() {
  Forms forms;
  const phrasebook::Grammar& grammar = Language::Embedded().grammar();
  for (const phrasebook::Verb& verb : grammar.verb()) {
    AddForms(verb.english(), forms);
  }
  for (const phrasebook::Adjective& adjective : grammar.adjective()) {
    AddForms(adjective.english(), forms);
  }
  return forms;
}

// Whether the sentence contains a held-out pair of a noun and a verb or
// adjective. Checks the text itself, not the pairs that Render() noted.
bool HasWordsHeldApart(const SentencePair& pair,
                       const PhrasebookOptions& options) {
  static const auto* const nouns = new Forms(NounForms());
  static const auto* const words = new Forms(VerbAndAdjectiveForms());
  for (const std::string& noun_form : pair.source) {
    if (nouns->count(noun_form) == 0) continue;
    for (const std::string& word_form : pair.source) {
      if (words->count(word_form) == 0) continue;
      for (const std::string& noun : nouns->at(noun_form)) {
        for (const std::string& word : words->at(word_form)) {
          if (IsHeldOut(noun, word, options)) return true;
        }
      }
    }
  }
  return false;
}

// Returns the FNV-1a hash of all words and links, in order.
uint64_t Fingerprint(const Phrasebook& book) {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](absl::string_view text) {
    for (const char letter : text) {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    }
  };
  for (const SentencePair& pair : AllPairs(book)) {
    add(Text(pair.source));
    add("\t");
    add(Text(pair.target));
    for (const AlignmentLink& link : pair.alignment) {
      add("\t");
      add(std::to_string(link.target));
      add("-");
      add(std::to_string(link.source));
    }
    add("\n");
  }
  return hash;
}

TEST(PhrasebookTest, TheFirstPairOfTrainIsTheyAreWatching) {
  const SentencePair& pair = DefaultPhrasebook().train.pairs.front();
  EXPECT_EQ(Text(pair.source), "they are watching .");
  EXPECT_EQ(Text(pair.target), "ils regardent .");
  // `are` has no French counterpart and is linked to its subject.
  EXPECT_THAT(pair.alignment,
              ElementsAre(AlignmentLink{0, 0}, AlignmentLink{0, 1},
                          AlignmentLink{1, 2}, AlignmentLink{2, 3}));
}

TEST(PhrasebookTest, SplitsHaveTheConfiguredSizes) {
  const Phrasebook book = MakePhrasebook({.seed = 9,
                                          .train = 2000,
                                          .dev = 3,
                                          .test_unseen = 5,
                                          .test_unseen_pairs = 7});
  EXPECT_THAT(book.train.pairs, SizeIs(2000));
  EXPECT_THAT(book.dev.pairs, SizeIs(3));
  EXPECT_THAT(book.test_unseen.pairs, SizeIs(5));
  EXPECT_THAT(book.test_unseen_pairs.pairs, SizeIs(7));
  for (const PhrasebookPart* split : Splits(book)) {
    EXPECT_EQ(split->constructions.size(), split->pairs.size());
  }
}

TEST(PhrasebookTest, MayBeEmpty) {
  const Phrasebook book = MakePhrasebook(
      {.train = 0, .dev = 0, .test_unseen = 0, .test_unseen_pairs = 0});
  EXPECT_THAT(AllPairs(book), SizeIs(0));
}

TEST(PhrasebookTest, TheSmallestTrainHasWordsForTheLargestOtherSplits) {
  constexpr int kLargest = kMaxPhrasebookRatio * kMinPhrasebookTrain;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const Phrasebook book = MakePhrasebook({.seed = seed,
                                            .train = kMinPhrasebookTrain,
                                            .dev = kLargest,
                                            .test_unseen = kLargest,
                                            .test_unseen_pairs = kLargest});
    EXPECT_THAT(AllPairs(book), SizeIs(kMinPhrasebookTrain + 3 * kLargest));
  }
}

// A `train` that has too few words for the other splits must end the program.
TEST(PhrasebookDeathTest, RefusesATrainWithTooFewWordsForTheOtherSplits) {
  EXPECT_DEATH(MakePhrasebook({.train = 1}), "1 vs. 50");
  EXPECT_DEATH(MakePhrasebook({.train = kMinPhrasebookTrain - 1}), "49 vs. 50");
  EXPECT_DEATH(MakePhrasebook({.train = 99, .dev = 1000}), "99 vs. 100");
  const Phrasebook alone = MakePhrasebook(
      {.train = 4, .dev = 0, .test_unseen = 0, .test_unseen_pairs = 0});
  EXPECT_THAT(alone.train.pairs, SizeIs(4));
}

TEST(PhrasebookTest, EachEnglishSentenceHasOneTranslationOverSeveralSeeds) {
  std::map<std::string, SentencePair> french;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    for (const SentencePair& pair : AllPairs(MakePhrasebook({.seed = seed}))) {
      const auto [known, is_new] = french.emplace(Text(pair.source), pair);
      if (is_new) continue;
      EXPECT_EQ(known->second.target, pair.target) << known->first;
      EXPECT_EQ(known->second.alignment, pair.alignment) << known->first;
    }
  }
}

TEST(PhrasebookTest, HasAtLeast300WordsASide) {
  std::set<std::string> english;
  std::set<std::string> french;
  for (const SentencePair& pair : DefaultPhrasebook().train.pairs) {
    english.insert(pair.source.begin(), pair.source.end());
    french.insert(pair.target.begin(), pair.target.end());
  }
  EXPECT_GE(english.size(), 300u);
  EXPECT_GE(french.size(), 300u);
}

TEST(PhrasebookTest, EverySplitHasAllConstructionsOfTheGrammar) {
  std::set<absl::string_view> all;
  for (const auto& construction :
       Language::Embedded().grammar().construction()) {
    EXPECT_TRUE(all.insert(construction.name()).second);
  }
  EXPECT_THAT(all, SizeIs(32));
  for (const PhrasebookPart* split :
       {&DefaultPhrasebook().train, &DefaultPhrasebook().test_unseen}) {
    for (absl::string_view construction : all) {
      EXPECT_THAT(split->constructions, Contains(construction));
    }
  }
}

TEST(PhrasebookTest, SidesHave3To14Tokens) {
  for (const SentencePair& pair : AllPairs(DefaultPhrasebook())) {
    EXPECT_THAT(pair.source, SizeIs(AllOf(Ge(3u), Le(14u))))
        << Text(pair.source);
    EXPECT_THAT(pair.target, SizeIs(AllOf(Ge(3u), Le(14u))))
        << Text(pair.source);
  }
}

TEST(PhrasebookTest, AtLeast30PercentAreNotMonotone) {
  for (const PhrasebookPart* split : Splits(DefaultPhrasebook())) {
    const auto crossed = std::count_if(
        split->pairs.begin(), split->pairs.end(),
        [](const SentencePair& pair) { return !IsMonotone(pair); });
    EXPECT_GE(100 * crossed, 30 * static_cast<int>(split->pairs.size()));
  }
}

TEST(PhrasebookTest, EveryWordIsLinkedOnceToEachPartnerAndInOrder) {
  for (const SentencePair& pair : AllPairs(DefaultPhrasebook())) {
    std::set<int> linked_source;
    std::set<int> linked_target;
    for (const AlignmentLink& link : pair.alignment) {
      ASSERT_GE(link.source, 0);
      ASSERT_LT(link.source, static_cast<int>(pair.source.size()));
      ASSERT_GE(link.target, 0);
      ASSERT_LT(link.target, static_cast<int>(pair.target.size()));
      linked_source.insert(link.source);
      linked_target.insert(link.target);
    }
    EXPECT_EQ(linked_source.size(), pair.source.size()) << Text(pair.source);
    EXPECT_EQ(linked_target.size(), pair.target.size()) << Text(pair.source);
    // The links strictly ascend: they are sorted and do not repeat.
    EXPECT_EQ(std::adjacent_find(pair.alignment.begin(), pair.alignment.end(),
                                 [](const auto& first, const auto& second) {
                                   return !(first < second);
                                 }),
              pair.alignment.end());
  }
}

TEST(PhrasebookTest, NoSentenceOccursTwice) {
  std::set<std::string> seen;
  for (const SentencePair& pair : AllPairs(DefaultPhrasebook())) {
    EXPECT_TRUE(seen.insert(Text(pair.source)).second) << Text(pair.source);
  }
}

TEST(PhrasebookTest, HeldOutPairsOccurOnlyInTheirTestSplit) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const PhrasebookOptions options{.seed = seed};
    const Phrasebook book = MakePhrasebook(options);
    for (const PhrasebookPart* split :
         {&book.train, &book.dev, &book.test_unseen}) {
      for (const SentencePair& pair : split->pairs) {
        EXPECT_FALSE(HasWordsHeldApart(pair, options)) << Text(pair.source);
      }
    }
    for (const SentencePair& pair : book.test_unseen_pairs.pairs) {
      EXPECT_TRUE(HasWordsHeldApart(pair, options)) << Text(pair.source);
    }
  }
}

TEST(PhrasebookTest, HoldsOutTheConfiguredPercentageOfPairs) {
  int pairs = 0;
  int apart = 0;
  const phrasebook::Grammar& grammar = Language::Embedded().grammar();
  for (const phrasebook::Noun& noun : grammar.noun()) {
    for (const phrasebook::Verb& verb : grammar.verb()) {
      ++pairs;
      const auto is_apart = [&](int percent) {
        return IsHeldOut(noun.english(0), verb.english(0),
                         {.apart_percent = percent});
      };
      if (is_apart(20)) ++apart;
      EXPECT_FALSE(is_apart(0));
      EXPECT_TRUE(is_apart(100));
    }
  }
  EXPECT_NEAR(100.0 * apart / pairs, 20, 3);
}

TEST(PhrasebookTest, OtherSplitsUseOnlyWordsOfTrain) {
  // Many words do not occur in 600 training sentences. The other splits must
  // not contain them.
  for (const int train : {600, 8000}) {
    const Phrasebook book = MakePhrasebook({.train = train});
    std::set<std::string> english;
    std::set<std::string> french;
    for (const SentencePair& pair : book.train.pairs) {
      english.insert(pair.source.begin(), pair.source.end());
      french.insert(pair.target.begin(), pair.target.end());
    }
    for (const PhrasebookPart* split :
         {&book.dev, &book.test_unseen, &book.test_unseen_pairs}) {
      for (const SentencePair& pair : split->pairs) {
        for (const std::string& word : pair.source) {
          EXPECT_EQ(english.count(word), 1u) << word;
        }
        for (const std::string& word : pair.target) {
          EXPECT_EQ(french.count(word), 1u) << word;
        }
      }
    }
  }
}

TEST(PhrasebookTest, IsTheSameOnEveryMachineAndDay) {
  EXPECT_EQ(Fingerprint(DefaultPhrasebook()), 17509205683176015853u);
  EXPECT_EQ(Fingerprint(MakePhrasebook()), Fingerprint(DefaultPhrasebook()));
}

TEST(PhrasebookTest, OtherSeedsMakeOtherBooks) {
  EXPECT_NE(Fingerprint(MakePhrasebook({.seed = 2})),
            Fingerprint(DefaultPhrasebook()));
}

}  // namespace
}  // namespace regard
