// Draws words and noun phrases that make sense together: only food is eaten,
// only people laugh.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_WORD_CHOICE_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_WORD_CHOICE_H_

#include "absl/types/span.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_random.h"
#include "experiments/data/phrasebook_verb.h"

namespace regard {

template <typename Word>
const Word& Choose(absl::Span<const Word> words, PhrasebookRandom& random) {
  return words[random.Below(static_cast<int>(words.size()))];
}

// A noun of any of these kinds. At least one is needed.
const Noun& ChooseNoun(NounKinds kinds, PhrasebookRandom& random);

// A verb with all of `wanted` and none of `unwanted`; with `objects`, one that
// takes an object. At least one is needed.
const Verb& ChooseVerb(VerbTraits wanted, VerbTraits unwanted, bool objects,
                       PhrasebookRandom& random);

// An adjective that stands beside (or, with `predicative`, is said of) a noun
// of these kinds; with `graded`, one that compares. Null if there is none.
const Adjective* ChooseAdjective(NounKinds kinds, bool predicative, bool graded,
                                 PhrasebookRandom& random);

// `the old cat`, `this cat`, `my cat`; singular or plural where the noun has
// one.
NounPhrase ChooseDefinite(const Noun& noun, PhrasebookRandom& random);

// `an old cat`, `three cats`, `many cats`, `cats`, `water`.
NounPhrase ChooseIndefinite(const Noun& noun, PhrasebookRandom& random);

// A pronoun, name or noun phrase that may do what `verb` says.
NounPhrase ChooseSubject(const Verb& verb, PhrasebookRandom& random);

// An object that the verb makes sense with.
NounPhrase ChooseObject(const Verb& verb, PhrasebookRandom& random);

// `i see him`: not `i see me`, `we see me` or `he sees him`.
const Pronoun& ChooseObjectPronoun(const NounPhrase& subject,
                                   PhrasebookRandom& random);

// Adds adjectives, each by chance, to a phrase that has none.
void AddAdjectives(NounPhrase& phrase, int percent, PhrasebookRandom& random);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_WORD_CHOICE_H_
