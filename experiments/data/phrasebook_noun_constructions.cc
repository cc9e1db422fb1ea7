#include "experiments/data/phrasebook_noun_constructions.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_clause_choice.h"
#include "experiments/data/phrasebook_construction.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_sentence_maker.h"
#include "experiments/data/phrasebook_verb.h"
#include "experiments/data/phrasebook_word_choice.h"

namespace regard {
namespace {

constexpr NounKinds kAnything = ~NounKinds{0};

SentenceMaker WhereQuestion(PhrasebookRandom& random) {
  SentenceMaker maker;
  maker.AddWhere(ChooseDefinite(ChooseNoun(kAnything, random), random));
  return maker;
}

Copula ChoosePredicate(PhrasebookRandom& random) {
  Copula copula;
  const int draw = random.Below(100);
  NounKinds kinds = kPeople;
  if (draw < 20) {
    copula.subject.pronoun = &Choose(Pronouns(), random);
  } else if (draw < 30) {
    copula.subject.name = &Choose(ProperNames(), random);
  } else {
    copula.subject = ChooseThemeOf(kAnything, random);
    kinds = copula.subject.noun->kinds;
  }
  copula.adjective = ChooseAdjective(kinds, true, false, random);
  copula.very = random.Chance(30);
  return copula;
}

SentenceMaker Predicate(PhrasebookRandom& random) {
  Copula copula = ChoosePredicate(random);
  copula.negated = random.Chance(25);
  SentenceMaker maker;
  maker.AddCopula(copula);
  return maker;
}

SentenceMaker PredicateQuestion(PhrasebookRandom& random) {
  Copula copula;
  do {
    copula = ChoosePredicate(random);
  } while (copula.subject.person() == Person::kI);
  copula.question = true;
  SentenceMaker maker;
  maker.AddCopula(copula);
  return maker;
}

SentenceMaker Comparative(PhrasebookRandom& random) {
  constexpr NounKinds kCompared = kPeople | kAnimal | kGarment | kThing |
                                  kFurniture | kBuilding | kText | kVehicle;
  Copula copula;
  copula.subject = ChooseThemeOf(kCompared, random);
  copula.adjective =
      ChooseAdjective(copula.subject.noun->kinds, true, true, random);
  const NounKinds common =
      copula.subject.noun->kinds & copula.adjective->predicative;
  copula.than = ChooseThemeOf(common, random);
  if ((common & kPeople) != 0 && random.Chance(30)) {
    copula.than = NounPhrase{.name = &Choose(ProperNames(), random)};
  }
  SentenceMaker maker;
  maker.AddCopula(copula);
  return maker;
}

SentenceMaker Superlative(PhrasebookRandom& random) {
  constexpr NounKinds kRanked =
      kPerson | kAnimal | kGarment | kThing | kBuilding | kText | kVehicle;
  Clause clause;
  do {
    clause = Begin(TransitiveVerb(kIndefiniteObject, random), random);
  } while ((clause.verb->objects & kRanked) == 0);
  NounPhrase phrase{.noun = &ChooseNoun(clause.verb->objects & kRanked, random),
                    .plural = random.Chance(30),
                    .superlative = true};
  const Adjective* adjective =
      ChooseAdjective(phrase.noun->kinds, false, true, random);
  (adjective->precedes ? phrase.preceding : phrase.following) = adjective;
  clause.object = phrase;
  return OneClause(clause);
}

SentenceMaker Possessive(PhrasebookRandom& random) {
  NounPhrase phrase = ChooseDefinite(ChooseNoun(kOwned, random), random);
  phrase.determiner = Determiner::kPossessor;
  if (random.Chance(50)) {
    phrase.possessor_name = &Choose(ProperNames(), random);
  } else {
    phrase.possessor_noun = &ChooseNoun(kPerson, random);
  }
  SentenceMaker maker;
  if (random.Chance(50)) {
    phrase.preceding = phrase.following = nullptr;
    maker.AddCopula({.subject = phrase,
                     .adjective = ChooseAdjective(phrase.noun->kinds, true,
                                                  false, random)});
  } else {
    Clause clause;
    do {
      clause = Begin(TransitiveVerb(kIndefiniteObject, random), random);
    } while ((clause.verb->objects & phrase.noun->kinds) == 0);
    clause.object = phrase;
    maker.AddClause(clause);
  }
  return maker;
}

SentenceMaker PartOfWhole(PhrasebookRandom& random) {
  const absl::string_view part = random.Chance(50) ? "door" : "window";
  NounPhrase phrase{.noun = &FindNoun(part), .plural = random.Chance(30)};
  phrase.whole = &ChooseNoun(kBuilding | kVehicle, random);
  if (phrase.whole->english == "boat") phrase.whole = &FindNoun("house");
  SentenceMaker maker;
  if (random.Chance(40)) {
    maker.AddCopula(
        {.subject = phrase,
         .adjective = ChooseAdjective(phrase.noun->kinds, true, false, random),
         .negated = random.Chance(30)});
  } else {
    AddAdjectives(phrase, 40, random);
    Clause clause =
        Begin(FindVerb(random.Chance(50) ? "open" : "close"), random);
    if (random.Chance(40)) clause.tense = Tense::kPast;
    clause.object = phrase;
    maker.AddClause(clause);
  }
  return maker;
}

SentenceMaker MaterialOfThing(PhrasebookRandom& random) {
  constexpr absl::string_view kVerbs[] = {"buy", "sell", "have", "choose"};
  const Material& material = Choose(Materials(), random);
  NounPhrase phrase =
      ChooseIndefinite(ChooseNoun(material.fits, random), random);
  phrase.material = &material;
  phrase.following = nullptr;  // not `a red silver ring`
  Clause clause = Begin(
      FindVerb(Choose(absl::Span<const absl::string_view>(kVerbs), random)),
      random);
  clause.object = phrase;
  return OneClause(clause);
}

SentenceMaker Existence(PhrasebookRandom& random) {
  const bool lies = random.Chance(50);
  const Noun& noun =
      ChooseNoun(lies ? kThing | kFood | kText : kPerson | kAnimal, random);
  const Place place = lies ? ChooseSpot(random)
                           : ChoosePlace((noun.kinds & kAnimal) != 0, random);
  NounPhrase phrase = ChooseIndefinite(noun, random);
  if (random.Chance(25)) {
    phrase.determiner = Determiner::kNo;
    phrase.plural = true;
  }
  SentenceMaker maker;
  maker.AddExistence(phrase, *place.preposition, place.phrase);
  return maker;
}

SentenceMaker SubjectRelative(PhrasebookRandom& random) {
  NounPhrase head = ChooseDefinite(ChooseNoun(kPeople, random), random);
  head.preceding = head.following = nullptr;
  Clause relative = random.Chance(50) ? IntransitiveClause(0, random)
                                      : TransitiveClause(kStative, random);
  relative.subject = head;
  SentenceMaker maker;
  maker.AddSubjectRelative(
      head, relative, *ChooseAdjective(head.noun->kinds, true, false, random));
  return maker;
}

SentenceMaker ObjectRelative(PhrasebookRandom& random) {
  Clause relative = Begin(TransitiveVerb(kStative | kGiving, random), random);
  const Noun& noun = ChooseNoun(relative.verb->objects, random);
  NounPhrase head{.noun = &noun,
                  .plural = !noun.english_plural.empty() && random.Chance(30)};
  SentenceMaker maker;
  maker.AddObjectRelative(head, relative,
                          *ChooseAdjective(noun.kinds, true, false, random));
  return maker;
}

constexpr Construction kConstructions[] = {
    {"where_question", "?", 2, WhereQuestion},
    {"predicate", ".", 5, Predicate},
    {"predicate_question", "?", 2, PredicateQuestion},
    {"comparative", ".", 4, Comparative},
    {"superlative", ".", 4, Superlative},
    {"possessive", ".", 5, Possessive},
    {"part_of_whole", ".", 3, PartOfWhole},
    {"material", ".", 3, MaterialOfThing},
    {"existence", ".", 4, Existence},
    {"subject_relative", ".", 3, SubjectRelative},
    {"object_relative", ".", 3, ObjectRelative},
};

}  // namespace

absl::Span<const Construction> NounConstructions() { return kConstructions; }

}  // namespace regard
