// The phrasebook's words: every English word with its one French counterpart,
// all inflected forms of both, and what they may sensibly be said of.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_LEXICON_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_LEXICON_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace regard {

enum class Gender { kMasculine, kFeminine };

// French verb forms in use. "You" is left out: it is ambiguous in French.
enum class Person { kI = 0, kSheOrHe = 1, kWe = 2, kThey = 3 };

// What a noun is, so that verbs and adjectives pick nouns that make sense.
using NounKinds = uint32_t;
inline constexpr NounKinds kPerson = 1 << 0;
inline constexpr NounKinds kKin = 1 << 1;  // a person who is somebody's
inline constexpr NounKinds kAnimal = 1 << 2;
inline constexpr NounKinds kPet = 1 << 3;
inline constexpr NounKinds kFood = 1 << 4;      // counted
inline constexpr NounKinds kMassFood = 1 << 5;  // not counted: `bread`
inline constexpr NounKinds kDrink = 1 << 6;     // not counted either
inline constexpr NounKinds kServed = 1 << 7;    // comes hot or cold
inline constexpr NounKinds kText = 1 << 8;
inline constexpr NounKinds kGarment = 1 << 9;
inline constexpr NounKinds kThing = 1 << 10;  // carried in a hand
inline constexpr NounKinds kOpens = 1 << 11;
inline constexpr NounKinds kHollow = 1 << 12;
inline constexpr NounKinds kFurniture = 1 << 13;
inline constexpr NounKinds kSurface = 1 << 14;  // things lie on and under it
inline constexpr NounKinds kBuilding = 1 << 15;
inline constexpr NounKinds kInside = 1 << 16;    // people are in it
inline constexpr NounKinds kLandmark = 1 << 17;  // people are near it
inline constexpr NounKinds kNature = 1 << 18;
inline constexpr NounKinds kVehicle = 1 << 19;
inline constexpr NounKinds kPerilous = 1 << 20;
inline constexpr NounKinds kOfMetal = 1 << 21;
inline constexpr NounKinds kOfWood = 1 << 22;
inline constexpr NounKinds kWritten = 1 << 23;  // by one person
inline constexpr NounKinds kPublic = 1 << 24;   // nobody's: trains
inline constexpr NounKinds kOpenAir = 1 << 25;  // animals are in it
inline constexpr NounKinds kHome = 1 << 26;     // somebody's
inline constexpr NounKinds kAdult = 1 << 27;    // a person, perhaps old
inline constexpr NounKinds kGoods = kGarment | kThing | kFurniture | kVehicle;
// What may be `my` or `his`.
inline constexpr NounKinds kOwned =
    kKin | kPet | kGoods | kText | kFood | kMassFood | kDrink | kHome;
inline constexpr NounKinds kPeople = kPerson | kKin;
inline constexpr NounKinds kMass = kMassFood | kDrink;

struct Noun {
  absl::string_view english;
  absl::string_view english_plural;  // empty for a mass noun
  absl::string_view french;
  absl::string_view french_plural;
  Gender gender;
  NounKinds kinds;
};

struct ProperName {
  absl::string_view english;
  absl::string_view french;
  Gender gender;
};

struct Adjective {
  absl::string_view english;
  absl::string_view comparative;  // `older`; empty: with `more`, or none
  absl::string_view superlative;  // `oldest`; empty: with `most`, or none
  absl::string_view masculine;
  absl::string_view feminine;
  absl::string_view masculine_plural;
  absl::string_view feminine_plural;
  absl::string_view before_vowel;  // `bel`, `vieil`, `nouvel`; else empty
  bool precedes;                   // stands before its noun in French
  bool graded;                     // has comparative and superlative
  NounKinds attributive;           // nouns it may stand beside
  NounKinds predicative;           // nouns it may be said of by `be`

  absl::string_view French(Gender gender, bool plural) const;
};

struct Pronoun {
  absl::string_view subject;  // `he`
  absl::string_view object;   // `him`
  absl::string_view owner;    // `his`
  absl::string_view french_subject;
  absl::string_view french_subject_before_vowel;
  absl::string_view direct;  // `le`
  absl::string_view direct_before_vowel;
  absl::string_view indirect;  // `lui`
  absl::string_view indirect_before_vowel;
  absl::string_view owned_masculine;  // `son`
  absl::string_view owned_feminine;   // `sa`
  absl::string_view owned_feminine_before_vowel;
  absl::string_view owned_plural;  // `ses`
  Person person;
  Gender gender;
};

struct Modal {
  absl::string_view english;
  absl::string_view third;
  bool takes_to;                 // `wants to`, negated with `do`
  absl::string_view present[4];  // by Person
};

// An English word and its French, for what does not inflect.
struct Invariable {
  absl::string_view english;
  absl::string_view french;
};

// What something is made of: `gold ring`, `bague en or`.
struct Material {
  absl::string_view english;
  absl::string_view french;
  NounKinds fits;
};

absl::Span<const Noun> Nouns();
absl::Span<const ProperName> ProperNames();
absl::Span<const Adjective> Adjectives();
absl::Span<const Pronoun> Pronouns();
absl::Span<const Modal> Modals();
absl::Span<const Invariable> Numbers();      // two and above
absl::Span<const Invariable> Frequencies();  // after the verb in French
absl::Span<const Material> Materials();

// The lexeme with this English base form; it is an error if there is none.
const Noun& FindNoun(absl::string_view english);
const Adjective& FindAdjective(absl::string_view english);
const Pronoun& FindPronoun(absl::string_view subject);
const ProperName& FindProperName(absl::string_view english);

// Whether a French word makes the word before it elide: it begins with a vowel
// or with a mute h.
bool BeginsWithVowelSound(absl::string_view french);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_LEXICON_H_
