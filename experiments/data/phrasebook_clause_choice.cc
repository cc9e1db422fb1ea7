#include "experiments/data/phrasebook_clause_choice.h"

#include "absl/types/span.h"
#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_verb.h"
#include "experiments/data/phrasebook_word_choice.h"

namespace regard {
namespace {

constexpr Invariable kIn = {"in", "dans"};
constexpr Invariable kOn = {"on", "sur"};
constexpr Invariable kUnder = {"under", "sous"};
constexpr Invariable kNear[] = {
    {"near", "près de"}, {"behind", "derrière"}, {"in front of", "devant"}};

Tense PresentTense(const Verb& verb) {
  return (verb.traits & kStative) != 0 ? Tense::kSimple : Tense::kProgressive;
}

// A verb whose object may be a person, so that `him` may stand for it.
const Verb& VerbWithPeople(VerbTraits unwanted, PhrasebookRandom& random) {
  while (true) {
    const Verb& verb = TransitiveVerb(unwanted | kIndefiniteObject, random);
    if ((verb.objects & kPeople) != 0) return verb;
  }
}

}  // namespace

NounPhrase ChooseSingular(NounKinds kinds, PhrasebookRandom& random) {
  NounPhrase phrase = ChooseDefinite(ChooseNoun(kinds, random), random);
  phrase.plural = false;
  return phrase;
}

Place ChoosePlace(bool animals, PhrasebookRandom& random) {
  if (random.Chance(45)) {
    return {&kIn, ChooseSingular(animals ? kOpenAir : kInside, random)};
  }
  return {&Choose(absl::Span<const Invariable>(kNear), random),
          ChooseSingular(kLandmark, random)};
}

Place ChooseSpot(PhrasebookRandom& random) {
  if (random.Chance(30)) return {&kIn, ChooseSingular(kHollow, random)};
  return {random.Chance(60) ? &kOn : &kUnder, ChooseSingular(kSurface, random)};
}

Clause Begin(const Verb& verb, PhrasebookRandom& random) {
  return {.subject = ChooseSubject(verb, random),
          .verb = &verb,
          .tense = PresentTense(verb)};
}

const Verb& TransitiveVerb(VerbTraits unwanted, PhrasebookRandom& random) {
  return ChooseVerb(0, unwanted | kNeedsRecipient, /*objects=*/true, random);
}

Clause TransitiveClause(VerbTraits unwanted, PhrasebookRandom& random) {
  Clause clause = Begin(TransitiveVerb(unwanted, random), random);
  clause.object = ChooseObject(*clause.verb, random);
  return clause;
}

Clause PronounClause(VerbTraits unwanted, PhrasebookRandom& random) {
  Clause clause = Begin(VerbWithPeople(unwanted, random), random);
  clause.object_pronoun = &ChooseObjectPronoun(clause.subject, random);
  return clause;
}

Clause IntransitiveClause(VerbTraits unwanted, PhrasebookRandom& random) {
  return Begin(ChooseVerb(kIntransitive, unwanted, false, random), random);
}

Clause AnyClause(VerbTraits unwanted, PhrasebookRandom& random) {
  const int draw = random.Below(100);
  if (draw < 45) return TransitiveClause(unwanted, random);
  if (draw < 75) return PronounClause(unwanted, random);
  return IntransitiveClause(unwanted, random);
}

NounPhrase ChooseThemeOf(NounKinds kinds, PhrasebookRandom& random) {
  NounPhrase phrase = ChooseDefinite(ChooseNoun(kinds, random), random);
  phrase.preceding = phrase.following = nullptr;
  return phrase;
}

}  // namespace regard
