// Draws clauses and places that make sense: a verb, who does it, what it is
// done to and where.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_CLAUSE_CHOICE_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_CLAUSE_CHOICE_H_

#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_verb.h"

namespace regard {

struct Place {
  const Invariable* preposition;
  NounPhrase phrase;
};

// A definite singular: `the old king`, `my brother`.
NounPhrase ChooseSingular(NounKinds kinds, PhrasebookRandom& random);

// What adjectives are said of: a definite noun phrase with none of its own.
NounPhrase ChooseThemeOf(NounKinds kinds, PhrasebookRandom& random);

// Where people are and, with `animals`, where animals are too.
Place ChoosePlace(bool animals, PhrasebookRandom& random);

// Where things lie.
Place ChooseSpot(PhrasebookRandom& random);

// A clause with its verb, its subject and the present tense.
Clause Begin(const Verb& verb, PhrasebookRandom& random);

// A verb with an object and, in most clauses, no recipient.
const Verb& TransitiveVerb(VerbTraits unwanted, PhrasebookRandom& random);

// Clauses in the present, of a verb without the `unwanted` traits.
Clause TransitiveClause(VerbTraits unwanted, PhrasebookRandom& random);
Clause PronounClause(VerbTraits unwanted, PhrasebookRandom& random);
Clause IntransitiveClause(VerbTraits unwanted, PhrasebookRandom& random);

// Any of the three.
Clause AnyClause(VerbTraits unwanted, PhrasebookRandom& random);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_CLAUSE_CHOICE_H_
