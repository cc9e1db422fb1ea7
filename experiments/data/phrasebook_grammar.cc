#include "experiments/data/phrasebook_grammar.h"

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_sentence.h"
#include "experiments/data/phrasebook_sentence_maker.h"
#include "experiments/data/phrasebook_word_choice.h"

namespace regard {
namespace {

constexpr Invariable kIn = {"in", "dans"};
constexpr Invariable kOn = {"on", "sur"};
constexpr Invariable kUnder = {"under", "sous"};
constexpr Invariable kFor = {"for", "pour"};
constexpr Invariable kWith = {"with", "avec"};
constexpr Invariable kNear[] = {
    {"near", "près de"}, {"behind", "derrière"}, {"in front of", "devant"}};
constexpr Invariable kNow = {"now", "maintenant"};
constexpr Invariable kToday = {"today", "aujourd'hui"};
constexpr Invariable kYesterday = {"yesterday", "hier"};
constexpr Invariable kTomorrow = {"tomorrow", "demain"};

struct Place {
  const Invariable* preposition;
  NounPhrase phrase;
};

NounPhrase ChooseSingular(NounKinds kinds, PhrasebookRandom& random) {
  NounPhrase phrase = ChooseDefinite(ChooseNoun(kinds, random), random);
  phrase.plural = false;
  return phrase;
}

// Where people and animals are.
Place ChoosePlace(PhrasebookRandom& random) {
  if (random.Chance(45)) return {&kIn, ChooseSingular(kInside, random)};
  return {&Choose(absl::Span<const Invariable>(kNear), random),
          ChooseSingular(kLandmark, random)};
}

// Where things lie.
Place ChooseSpot(PhrasebookRandom& random) {
  if (random.Chance(30)) return {&kIn, ChooseSingular(kHollow, random)};
  return {random.Chance(60) ? &kOn : &kUnder, ChooseSingular(kSurface, random)};
}

Tense PresentTense(const Verb& verb) {
  return (verb.traits & kStative) != 0 ? Tense::kSimple : Tense::kProgressive;
}

// A clause with its verb, its subject and the present tense.
Clause Begin(const Verb& verb, PhrasebookRandom& random) {
  return {.subject = ChooseSubject(verb, random),
          .verb = &verb,
          .tense = PresentTense(verb)};
}

const Verb& TransitiveVerb(VerbTraits unwanted, PhrasebookRandom& random) {
  return ChooseVerb(0, unwanted | kNeedsRecipient, /*objects=*/true, random);
}

// A verb whose object may be a person, so that `him` may stand for it.
const Verb& VerbWithPeople(VerbTraits unwanted, PhrasebookRandom& random) {
  while (true) {
    const Verb& verb = TransitiveVerb(unwanted | kIndefiniteObject, random);
    if ((verb.objects & kPeople) != 0) return verb;
  }
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

// Any of the three.
Clause AnyClause(VerbTraits unwanted, PhrasebookRandom& random) {
  const int draw = random.Below(100);
  if (draw < 45) return TransitiveClause(unwanted, random);
  if (draw < 75) return PronounClause(unwanted, random);
  return IntransitiveClause(unwanted, random);
}

// What adjectives are said of: a pronoun, a name or a noun phrase without
// adjectives of its own.
NounPhrase ChooseThemeOf(NounKinds kinds, PhrasebookRandom& random) {
  NounPhrase phrase = ChooseDefinite(ChooseNoun(kinds, random), random);
  phrase.preceding = phrase.following = nullptr;
  return phrase;
}

constexpr NounKinds kAnything = ~NounKinds{0};

SentenceMaker One(const Clause& clause) {
  SentenceMaker maker;
  maker.AddClause(clause);
  return maker;
}

SentenceMaker Intransitive(PhrasebookRandom& random) {
  Clause clause = IntransitiveClause(0, random);
  if (random.Chance(40)) clause.time = random.Chance(50) ? &kNow : &kToday;
  return One(clause);
}

SentenceMaker PlaceOfAction(PhrasebookRandom& random) {
  Clause clause = IntransitiveClause(0, random);
  Place place = ChoosePlace(random);
  clause.preposition = place.preposition;
  clause.place = place.phrase;
  return One(clause);
}

SentenceMaker Company(PhrasebookRandom& random) {
  Clause clause = IntransitiveClause(kAnimalsToo, random);
  clause.preposition = &kWith;
  clause.place = random.Chance(40)
                     ? NounPhrase{.name = &Choose(ProperNames(), random)}
                     : ChooseSingular(kPeople, random);
  return One(clause);
}

SentenceMaker Transitive(PhrasebookRandom& random) {
  return One(TransitiveClause(0, random));
}

SentenceMaker ObjectPronoun(PhrasebookRandom& random) {
  return One(PronounClause(0, random));
}

SentenceMaker Negation(PhrasebookRandom& random) {
  Clause clause = random.Chance(70) ? TransitiveClause(0, random)
                                    : IntransitiveClause(0, random);
  clause.polarity = Polarity::kNot;
  return One(clause);
}

SentenceMaker NegatedPronoun(PhrasebookRandom& random) {
  Clause clause = PronounClause(0, random);
  clause.polarity = Polarity::kNot;
  return One(clause);
}

SentenceMaker Past(PhrasebookRandom& random) {
  Clause clause = random.Chance(70) ? TransitiveClause(kNoPast, random)
                                    : IntransitiveClause(kNoPast, random);
  clause.tense = Tense::kPast;
  if (random.Chance(30)) clause.time = &kYesterday;
  return One(clause);
}

SentenceMaker PastPronoun(PhrasebookRandom& random) {
  Clause clause = PronounClause(kNoPast, random);
  clause.tense = Tense::kPast;
  return One(clause);
}

SentenceMaker NegatedPast(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoPast, random);
  clause.tense = Tense::kPast;
  clause.polarity = Polarity::kNot;
  return One(clause);
}

SentenceMaker Future(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoFuture, random);
  clause.tense = Tense::kFuture;
  if (random.Chance(25)) clause.polarity = Polarity::kNot;
  if (random.Chance(25)) clause.time = &kTomorrow;
  return One(clause);
}

SentenceMaker ModalVerb(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoFuture, random);
  clause.tense = Tense::kModal;
  clause.modal = &Choose(Modals(), random);
  if (random.Chance(25)) clause.polarity = Polarity::kNot;
  return One(clause);
}

// `often`, `always` or, with `never`, a negation; of what is done at all times.
SentenceMaker Habit(bool never, PhrasebookRandom& random) {
  constexpr VerbTraits kUnwanted = kStative | kProgressiveOnly | kGiving;
  Clause clause;
  if (random.Chance(60)) {
    clause = Begin(TransitiveVerb(kUnwanted, random), random);
    const Noun& noun = ChooseNoun(clause.verb->objects, random);
    clause.object = NounPhrase{.noun = &noun,
                               .plural = !noun.english_plural.empty(),
                               .determiner = Determiner::kBare};
    AddAdjectives(*clause.object, 40, random);
  } else {
    clause = IntransitiveClause(kUnwanted, random);
  }
  clause.tense = Tense::kSimple;
  if (never) {
    clause.polarity = Polarity::kNever;
  } else {
    clause.frequency = &Choose(Frequencies(), random);
  }
  return One(clause);
}

SentenceMaker Frequency(PhrasebookRandom& random) {
  return Habit(/*never=*/false, random);
}

SentenceMaker Never(PhrasebookRandom& random) {
  return Habit(/*never=*/true, random);
}

SentenceMaker YesNoQuestion(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoPast, random);
  if (random.Chance(30)) clause.tense = Tense::kPast;
  clause.question = Question::kYesNo;
  return One(clause);
}

SentenceMaker WhyQuestion(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoPast, random);
  if (random.Chance(30)) clause.tense = Tense::kPast;
  if (random.Chance(20)) clause.polarity = Polarity::kNot;
  clause.question = Question::kWhy;
  return One(clause);
}

SentenceMaker WhoQuestion(PhrasebookRandom& random) {
  Clause clause = AnyClause(0, random);
  clause.subject = NounPhrase{.who = true};
  return One(clause);
}

SentenceMaker WhatQuestion(PhrasebookRandom& random) {
  SentenceMaker maker;
  maker.AddWhat(Begin(TransitiveVerb(kStative, random), random));
  return maker;
}

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
  Copula copula = ChoosePredicate(random);
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
  do {
    copula.than = ChooseThemeOf(common, random);
  } while (copula.than->noun == copula.subject.noun);
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
  return One(clause);
}

SentenceMaker Possessive(PhrasebookRandom& random) {
  NounPhrase phrase = ChooseDefinite(ChooseNoun(kOwned, random), random);
  phrase.determiner = Determiner::kPossessor;
  if (random.Chance(50)) {
    phrase.possessor_name = &Choose(ProperNames(), random);
  } else {
    phrase.possessor_noun = &ChooseNoun(kPeople, random);
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
  Clause clause = Begin(
      FindVerb(Choose(absl::Span<const absl::string_view>(kVerbs), random)),
      random);
  clause.object = phrase;
  return One(clause);
}

SentenceMaker Existence(PhrasebookRandom& random) {
  const bool lies = random.Chance(50);
  const Place place = lies ? ChooseSpot(random) : ChoosePlace(random);
  NounPhrase phrase = ChooseIndefinite(
      ChooseNoun(lies ? kThing | kFood | kText : kPeople | kAnimal, random),
      random);
  if (random.Chance(25)) {
    phrase.determiner = Determiner::kNo;
    phrase.plural = true;
  }
  SentenceMaker maker;
  maker.AddExistence(phrase, *place.preposition, place.phrase);
  return maker;
}

SentenceMaker Recipient(PhrasebookRandom& random) {
  Clause clause = Begin(ChooseVerb(kGiving, 0, true, random), random);
  clause.object = ChooseObject(*clause.verb, random);
  if (random.Chance(50)) {
    clause.recipient_pronoun = &ChooseObjectPronoun(clause.subject, random);
  } else {
    clause.recipient =
        random.Chance(25) ? NounPhrase{.name = &Choose(ProperNames(), random)}
                          : ChooseDefinite(ChooseNoun(kPeople, random), random);
  }
  if (random.Chance(40)) clause.tense = Tense::kPast;
  return One(clause);
}

SentenceMaker Beneficiary(PhrasebookRandom& random) {
  Clause clause = Begin(ChooseVerb(kForSomebody, 0, true, random), random);
  clause.object = ChooseObject(*clause.verb, random);
  clause.preposition = &kFor;
  clause.place = random.Chance(40)
                     ? NounPhrase{.name = &Choose(ProperNames(), random)}
                     : ChooseSingular(kPeople, random);
  return One(clause);
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

SentenceMaker JoinedSubject(PhrasebookRandom& random) {
  Clause clause = AnyClause(0, random);
  clause.subject = NounPhrase{.name = &Choose(ProperNames(), random)};
  do {
    clause.subject.joined_name = &Choose(ProperNames(), random);
  } while (clause.subject.joined_name == clause.subject.name);
  return One(clause);
}

struct Construction {
  absl::string_view name;
  absl::string_view punctuation;
  int weight;
  SentenceMaker (*make)(PhrasebookRandom&);
};

constexpr Construction kConstructions[] = {
    {"intransitive", ".", 3, Intransitive},
    {"place", ".", 5, PlaceOfAction},
    {"company", ".", 2, Company},
    {"transitive", ".", 8, Transitive},
    {"object_pronoun", ".", 6, ObjectPronoun},
    {"negation", ".", 6, Negation},
    {"negated_pronoun", ".", 4, NegatedPronoun},
    {"past", ".", 6, Past},
    {"past_pronoun", ".", 4, PastPronoun},
    {"negated_past", ".", 4, NegatedPast},
    {"future", ".", 5, Future},
    {"modal", ".", 5, ModalVerb},
    {"frequency", ".", 3, Frequency},
    {"never", ".", 3, Never},
    {"yes_no_question", "?", 4, YesNoQuestion},
    {"why_question", "?", 3, WhyQuestion},
    {"who_question", "?", 2, WhoQuestion},
    {"what_question", "?", 2, WhatQuestion},
    {"where_question", "?", 2, WhereQuestion},
    {"predicate", ".", 5, Predicate},
    {"predicate_question", "?", 2, PredicateQuestion},
    {"comparative", ".", 4, Comparative},
    {"superlative", ".", 4, Superlative},
    {"possessive", ".", 5, Possessive},
    {"part_of_whole", ".", 3, PartOfWhole},
    {"material", ".", 3, MaterialOfThing},
    {"existence", ".", 4, Existence},
    {"recipient", ".", 4, Recipient},
    {"beneficiary", ".", 3, Beneficiary},
    {"subject_relative", ".", 3, SubjectRelative},
    {"object_relative", ".", 3, ObjectRelative},
    {"joined_subject", ".", 3, JoinedSubject},
};

const Construction& ChooseConstruction(PhrasebookRandom& random) {
  int total = 0;
  for (const Construction& construction : kConstructions) {
    total += construction.weight;
  }
  int draw = random.Below(total);
  for (const Construction& construction : kConstructions) {
    draw -= construction.weight;
    if (draw < 0) return construction;
  }
  return kConstructions[0];
}

bool HasLength(const std::vector<std::string>& words) {
  const int length = static_cast<int>(words.size());
  return kMinPhrasebookLength <= length && length <= kMaxPhrasebookLength;
}

}  // namespace

std::vector<absl::string_view> PhrasebookConstructions() {
  std::vector<absl::string_view> names;
  for (const Construction& construction : kConstructions) {
    names.push_back(construction.name);
  }
  return names;
}

PhrasebookSentence DrawSentence(PhrasebookRandom& random) {
  while (true) {
    const Construction& construction = ChooseConstruction(random);
    PhrasebookSentence sentence = construction.make(random).Finish(
        construction.name, construction.punctuation);
    if (HasLength(sentence.pair.source) && HasLength(sentence.pair.target)) {
      return sentence;
    }
  }
}

PhrasebookSentence TheyAreWatching() {
  Clause clause{.subject = {.pronoun = &FindPronoun("they")},
                .verb = &FindVerb("watch")};
  return One(clause).Finish("intransitive", ".");
}

}  // namespace regard
