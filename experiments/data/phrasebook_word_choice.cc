#include "experiments/data/phrasebook_word_choice.h"

#include <vector>

#include "absl/types/span.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_verb.h"
#include "third_party/abseil_backport/check.h"

namespace regard {
namespace {

template <typename Word, typename Fits>
const Word* ChooseIf(absl::Span<const Word> words, Fits fits,
                     PhrasebookRandom& random) {
  std::vector<const Word*> fitting;
  for (const Word& word : words) {
    if (fits(word)) fitting.push_back(&word);
  }
  if (fitting.empty()) return nullptr;
  return fitting[random.Below(static_cast<int>(fitting.size()))];
}

void ChooseOwner(NounPhrase& phrase, PhrasebookRandom& random) {
  phrase.determiner = Determiner::kOwner;
  phrase.owner = &Choose(Pronouns(), random);
}

}  // namespace

const Noun& ChooseNoun(NounKinds kinds, PhrasebookRandom& random) {
  const Noun* noun = ChooseIf(
      Nouns(), [&](const Noun& word) { return (word.kinds & kinds) != 0; },
      random);
  REGARD_CHECK(noun != nullptr) << "no noun of kinds " << kinds;
  return *noun;
}

const Verb& ChooseVerb(VerbTraits wanted, VerbTraits unwanted, bool objects,
                       PhrasebookRandom& random) {
  const Verb* verb = ChooseIf(
      Verbs(),
      [&](const Verb& word) {
        return (word.traits & wanted) == wanted &&
               (word.traits & unwanted) == 0 && (!objects || word.objects != 0);
      },
      random);
  REGARD_CHECK(verb != nullptr) << "no verb with traits " << wanted;
  return *verb;
}

const Adjective* ChooseAdjective(NounKinds kinds, bool predicative, bool graded,
                                 PhrasebookRandom& random) {
  return ChooseIf(
      Adjectives(),
      [&](const Adjective& word) {
        const NounKinds fits =
            predicative ? word.predicative : word.attributive;
        return (fits & kinds) != 0 && (!graded || word.graded);
      },
      random);
}

void AddAdjectives(NounPhrase& phrase, int percent, PhrasebookRandom& random) {
  for (int i = 0; i < 2; ++i) {
    if (!random.Chance(percent)) continue;
    const Adjective* adjective = ChooseAdjective(
        phrase.noun->kinds, /*predicative=*/false, /*graded=*/false, random);
    if (adjective == nullptr) continue;
    (adjective->precedes ? phrase.preceding : phrase.following) = adjective;
  }
}

NounPhrase ChooseDefinite(const Noun& noun, PhrasebookRandom& random) {
  NounPhrase phrase{.noun = &noun};
  phrase.plural = !noun.english_plural.empty() && random.Chance(30);
  const int draw = random.Below(100);
  const bool kin = (noun.kinds & kKin) != 0;
  if (kin || (draw < 20 && (noun.kinds & kOwned) != 0)) {
    ChooseOwner(phrase, random);
  } else if (draw < 35) {
    phrase.determiner = Determiner::kThis;
  }
  AddAdjectives(phrase, 30, random);
  return phrase;
}

NounPhrase ChooseIndefinite(const Noun& noun, PhrasebookRandom& random) {
  NounPhrase phrase{.noun = &noun};
  const int draw = random.Below(100);
  if ((noun.kinds & kMass) != 0) {
    phrase.determiner = Determiner::kBare;
  } else if (draw < 45) {
    phrase.determiner = Determiner::kIndefinite;
  } else {
    phrase.plural = true;
    phrase.determiner = draw < 65   ? Determiner::kBare
                        : draw < 85 ? Determiner::kNumber
                                    : Determiner::kMany;
    phrase.number = &Choose(Numbers(), random);
  }
  AddAdjectives(phrase, 30, random);
  return phrase;
}

NounPhrase ChooseSubject(const Verb& verb, PhrasebookRandom& random) {
  const int draw = random.Below(100);
  if (draw < 40) return {.pronoun = &Choose(Pronouns(), random)};
  if (draw < 52) return {.name = &Choose(ProperNames(), random)};
  NounKinds kinds = kPeople;
  if ((verb.traits & kAnimalsToo) != 0 && random.Chance(50)) kinds = kAnimal;
  const Noun& noun = ChooseNoun(kinds, random);
  if (draw < 92 || (noun.kinds & kKin) != 0) {
    return ChooseDefinite(noun, random);
  }
  NounPhrase phrase{.noun = &noun, .determiner = Determiner::kIndefinite};
  AddAdjectives(phrase, 30, random);
  return phrase;
}

NounPhrase ChooseObject(const Verb& verb, PhrasebookRandom& random) {
  const Noun& noun = ChooseNoun(verb.objects, random);
  const bool definite = (verb.traits & kDefiniteObject) != 0 ||
                        ((verb.traits & kIndefiniteObject) == 0 &&
                         ((noun.kinds & kKin) != 0 || random.Chance(55)));
  return definite ? ChooseDefinite(noun, random)
                  : ChooseIndefinite(noun, random);
}

const Pronoun& ChooseObjectPronoun(const NounPhrase& subject,
                                   PhrasebookRandom& random) {
  const Person person = subject.person();
  const bool speaker = person == Person::kI || person == Person::kWe;
  while (true) {
    const Pronoun& pronoun = Choose(Pronouns(), random);
    const bool about_speaker =
        pronoun.person == Person::kI || pronoun.person == Person::kWe;
    if (&pronoun != subject.pronoun && !(speaker && about_speaker)) {
      return pronoun;
    }
  }
}

}  // namespace regard
