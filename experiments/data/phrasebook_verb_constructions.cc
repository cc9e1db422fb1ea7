#include "experiments/data/phrasebook_verb_constructions.h"

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

constexpr Invariable kFor = {"for", "pour"};
constexpr Invariable kWith = {"with", "avec"};
constexpr Invariable kNow = {"now", "maintenant"};
constexpr Invariable kToday = {"today", "aujourd'hui"};
constexpr Invariable kYesterday = {"yesterday", "hier"};
constexpr Invariable kTomorrow = {"tomorrow", "demain"};

SentenceMaker Intransitive(PhrasebookRandom& random) {
  Clause clause = IntransitiveClause(0, random);
  if (random.Chance(40)) clause.time = random.Chance(50) ? &kNow : &kToday;
  return OneClause(clause);
}

SentenceMaker PlaceOfAction(PhrasebookRandom& random) {
  Clause clause = IntransitiveClause(0, random);
  const Noun* noun = clause.subject.noun;
  const bool animal = noun != nullptr && (noun->kinds & kAnimal) != 0;
  const Place place = ChoosePlace(animal, random);
  clause.preposition = place.preposition;
  clause.place = place.phrase;
  return OneClause(clause);
}

SentenceMaker Company(PhrasebookRandom& random) {
  Clause clause = IntransitiveClause(kAnimalsToo, random);
  clause.preposition = &kWith;
  clause.place = random.Chance(40)
                     ? NounPhrase{.name = &Choose(ProperNames(), random)}
                     : ChooseSingular(kPeople, random);
  return OneClause(clause);
}

SentenceMaker Transitive(PhrasebookRandom& random) {
  return OneClause(TransitiveClause(0, random));
}

SentenceMaker ObjectPronoun(PhrasebookRandom& random) {
  return OneClause(PronounClause(0, random));
}

SentenceMaker Negation(PhrasebookRandom& random) {
  Clause clause = random.Chance(70) ? TransitiveClause(0, random)
                                    : IntransitiveClause(0, random);
  clause.polarity = Polarity::kNot;
  return OneClause(clause);
}

SentenceMaker NegatedPronoun(PhrasebookRandom& random) {
  Clause clause = PronounClause(0, random);
  clause.polarity = Polarity::kNot;
  return OneClause(clause);
}

SentenceMaker Past(PhrasebookRandom& random) {
  Clause clause = random.Chance(70) ? TransitiveClause(kNoPast, random)
                                    : IntransitiveClause(kNoPast, random);
  clause.tense = Tense::kPast;
  if (random.Chance(30)) clause.time = &kYesterday;
  return OneClause(clause);
}

SentenceMaker PastPronoun(PhrasebookRandom& random) {
  Clause clause = PronounClause(kNoPast, random);
  clause.tense = Tense::kPast;
  return OneClause(clause);
}

SentenceMaker NegatedPast(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoPast, random);
  clause.tense = Tense::kPast;
  clause.polarity = Polarity::kNot;
  return OneClause(clause);
}

SentenceMaker Future(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoFuture, random);
  clause.tense = Tense::kFuture;
  if (random.Chance(25)) clause.polarity = Polarity::kNot;
  if (random.Chance(25)) clause.time = &kTomorrow;
  return OneClause(clause);
}

SentenceMaker ModalVerb(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoFuture, random);
  clause.tense = Tense::kModal;
  clause.modal = &Choose(Modals(), random);
  if (random.Chance(25)) clause.polarity = Polarity::kNot;
  return OneClause(clause);
}

// `often`, `always` or, with `never`, a negation; of what is done at all times.
SentenceMaker Habit(bool never, PhrasebookRandom& random) {
  constexpr VerbTraits kUnwanted = kStative | kProgressiveOnly | kGiving;
  Clause clause;
  if (random.Chance(60)) {
    clause = Begin(TransitiveVerb(kUnwanted, random), random);
    const Noun& noun = ChooseNoun(clause.verb->objects & ~kKin, random);
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
  return OneClause(clause);
}

SentenceMaker Frequency(PhrasebookRandom& random) {
  return Habit(/*never=*/false, random);
}

SentenceMaker Never(PhrasebookRandom& random) {
  return Habit(/*never=*/true, random);
}

SentenceMaker YesNoQuestion(PhrasebookRandom& random) {
  Clause clause;
  do {  // nobody asks what he himself does
    clause = AnyClause(kNoPast, random);
  } while (clause.subject.person() == Person::kI);
  if (random.Chance(30)) clause.tense = Tense::kPast;
  clause.question = Question::kYesNo;
  return OneClause(clause);
}

SentenceMaker WhyQuestion(PhrasebookRandom& random) {
  Clause clause = AnyClause(kNoPast, random);
  if (random.Chance(30)) clause.tense = Tense::kPast;
  if (random.Chance(20)) clause.polarity = Polarity::kNot;
  clause.question = Question::kWhy;
  return OneClause(clause);
}

SentenceMaker WhoQuestion(PhrasebookRandom& random) {
  Clause clause = AnyClause(0, random);
  clause.subject = NounPhrase{.who = true};
  return OneClause(clause);
}

SentenceMaker WhatQuestion(PhrasebookRandom& random) {
  const Verb* verb = nullptr;
  do {  // `what`, not `whom`
    verb = &TransitiveVerb(kStative, random);
  } while ((verb->objects & kKin) != 0);
  SentenceMaker maker;
  maker.AddWhat(Begin(*verb, random));
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
  return OneClause(clause);
}

SentenceMaker Beneficiary(PhrasebookRandom& random) {
  Clause clause = Begin(ChooseVerb(kForSomebody, 0, true, random), random);
  clause.object = ChooseObject(*clause.verb, random);
  clause.preposition = &kFor;
  clause.place = random.Chance(40)
                     ? NounPhrase{.name = &Choose(ProperNames(), random)}
                     : ChooseSingular(kPeople, random);
  return OneClause(clause);
}

SentenceMaker JoinedSubject(PhrasebookRandom& random) {
  Clause clause = AnyClause(0, random);
  clause.subject = NounPhrase{.name = &Choose(ProperNames(), random)};
  clause.subject.joined_name = &Choose(ProperNames(), random);
  return OneClause(clause);
}

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
    {"recipient", ".", 4, Recipient},
    {"beneficiary", ".", 3, Beneficiary},
    {"joined_subject", ".", 3, JoinedSubject},
};

}  // namespace

absl::Span<const Construction> VerbConstructions() { return kConstructions; }

}  // namespace regard
