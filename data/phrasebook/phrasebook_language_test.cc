#include "data/phrasebook/phrasebook_language.h"

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_rendering.h"
#include "data/phrasebook/phrasebook_sketch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard::phrasebook {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Grammar& Data() { return Language::Embedded().grammar(); }

std::string ProblemsOf(absl::string_view grammar) {
  const absl::StatusOr<Language> parsed = Language::Parse("", grammar);
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

TEST(PhrasebookLanguageTest, ReportsAllProblemsOfATextAtOnce) {
  EXPECT_THAT(
      ProblemsOf(R"(
        noun { english: ["cat", "cats"] french: "chat" kind: PET }
        verb { english: ["see", "sees"]
               french: ["voir", "vois", "voit", "voyons", "voient", "vu"] }
        who { english: ["who", ""] french: ["qui", "", ""] }
        pattern { tense: PAST english: "SUBJET PAST" french: "BE.NOWHERE" }
        construction {
          name: "odd" weight: 0
          step { rule: "missing" particle: "soon" }
          step { phrase { noun: "dog" preposition: "off" determiner: "any" } }
          step { retry { step { verb { one_of: "fly" } } } }
          step { one_of { weight: 0 } english: "WHOM" }
        })"),
      AllOf(HasSubstr("cat must have 2 French forms"),
            HasSubstr("see must have 4 English forms"),
            HasSubstr("see must take an object or be INTRANSITIVE"),
            HasSubstr("pattern has an unknown token: SUBJET"),
            HasSubstr("pattern names an unknown slot: BE.NOWHERE"),
            HasSubstr("odd must have a weight above 0"),
            HasSubstr("odd names an unknown rule: missing"),
            HasSubstr("odd names an unknown particle: soon"),
            AllOf(HasSubstr("odd names an unknown noun: dog"),
                  HasSubstr("odd names an unknown preposition: off"),
                  HasSubstr("odd names an unknown determiner: any"),
                  HasSubstr("odd names an unknown verb: fly"),
                  HasSubstr("odd must give each choice a weight above 0"),
                  HasSubstr("odd has an unknown token: WHOM"))));
}

TEST(PhrasebookLanguageTest, RefusesLinksToWordsThatThePatternDoesNotHave) {
  constexpr absl::string_view kWho =
      "who { english: ['who', ''] french: ['qui', '', ''] } ";
  EXPECT_EQ(ProblemsOf(std::string(kWho) +
                       "pattern { english: 'SUBJECT not' french: 'pas(not)' }"),
            "");
  EXPECT_THAT(
      ProblemsOf(std::string(kWho) +
                 "pattern { english: 'SUBJECT not' french: 'pas(never)' }"),
      HasSubstr("links to an unknown English word: pas(never)"));
}

TEST(PhrasebookLanguageTest, RejectsInvalidGrammars) {
  EXPECT_THAT(ProblemsOf("nouns {}"), HasSubstr("must be a regard.phrasebook"));
}

TEST(PhrasebookLanguageTest, CombinedKindsHaveTheBitsOfTheirParts) {
  EXPECT_EQ(PEOPLE, PERSON | KIN);
  EXPECT_EQ(GOODS, GARMENT | THING | FURNITURE | VEHICLE);
  EXPECT_EQ(OWNED, KIN | PET | GOODS | TEXT | FOOD | MASS_FOOD | DRINK | HOME);
}

TEST(PhrasebookLanguageTest, WordsAreInLowerCaseAndUnique) {
  std::set<std::string> nouns;
  std::set<std::string> words;
  for (const Noun& noun : Data().noun()) {
    EXPECT_TRUE(nouns.insert(noun.english(0)).second) << noun.english(0);
    EXPECT_EQ(noun.english(0), absl::AsciiStrToLower(noun.english(0)));
  }
  for (const Verb& verb : Data().verb()) {
    EXPECT_TRUE(words.insert(verb.english(0)).second) << verb.english(0);
  }
  for (const Adjective& adjective : Data().adjective()) {
    EXPECT_TRUE(words.insert(adjective.english(0)).second)
        << adjective.english(0);
  }
}

TEST(PhrasebookLanguageTest, EveryNounHasAnAdjective) {
  for (const Noun& noun : Data().noun()) {
    const Bits kinds = BitsOf(noun.kind());
    int fitting = 0;
    for (const Adjective& adjective : Data().adjective()) {
      if (((BitsOf(adjective.kind()) | BitsOf(adjective.predicative())) &
           kinds) != 0) {
        ++fitting;
      }
    }
    EXPECT_GT(fitting, 0) << noun.english(0);
  }
}

TEST(PhrasebookLanguageTest, EveryVerbHasANounAsItsObjectAndTheFormsItNeeds) {
  for (const Verb& verb : Data().verb()) {
    const Bits objects = BitsOf(verb.object());
    const Bits traits = BitsOf(verb.trait());
    int fitting = 0;
    for (const Noun& noun : Data().noun()) {
      if ((BitsOf(noun.kind()) & objects) != 0) ++fitting;
    }
    EXPECT_EQ(fitting > 0, objects != 0) << verb.english(0);
    EXPECT_EQ(verb.english(1).empty(), (traits & PROGRESSIVE_ONLY) != 0)
        << verb.english(0);
    EXPECT_EQ(verb.english(2).empty(), (traits & STATIVE) != 0)
        << verb.english(0);
    EXPECT_EQ(verb.english(3).empty(), (traits & NO_PAST) != 0)
        << verb.english(0);
  }
}

TEST(PhrasebookLanguageTest, VowelSoundsAreVowelsAndTheMuteH) {
  const Language& language = Language::Embedded();
  for (absl::string_view word : {"ami", "école", "homme", "œuf", "y", "un"}) {
    EXPECT_TRUE(language.BeginsWithVowelSound(word)) << word;
  }
  for (absl::string_view word : {"chat", "héros", "hibou", "les", "hérisson"}) {
    EXPECT_FALSE(language.BeginsWithVowelSound(word)) << word;
  }
}

// An empty form, a missing pattern or a missing phrase would end the program,
// or produce an empty word.
TEST(PhrasebookLanguageTest, EveryConstructionMakesWholeSentences) {
  PhrasebookRandom random(7);
  for (const Construction& construction : Data().construction()) {
    std::set<std::string> different;
    for (int i = 0; i < 300; ++i) {
      const PhrasebookSentence sentence =
          Render(DrawSketch(construction, Language::Embedded(), random),
                 Language::Embedded());
      std::string text;
      for (const auto* side : {&sentence.pair.source, &sentence.pair.target}) {
        for (const std::string& word : *side) {
          ASSERT_FALSE(word.empty()) << construction.name() << ":" << text;
          ASSERT_EQ(word, absl::AsciiStrToLower(word)) << construction.name();
          text += " " + word;
        }
      }
      different.insert(text);
    }
    EXPECT_GT(different.size(), 50u) << construction.name();
  }
}

}  // namespace
}  // namespace regard::phrasebook
