// A noun phrase of the phrasebook, said in English and written in French with
// articles, agreement and the place of adjectives.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_NOUN_PHRASE_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_NOUN_PHRASE_H_

#include "experiments/data/phrasebook_draft.h"
#include "experiments/data/phrasebook_lexicon.h"

namespace regard {

enum class Determiner {
  kThe,
  kIndefinite,  // a, an
  kBare,        // no word in English: des, du, de la
  kThis,        // this, these
  kOwner,       // my, his, ...
  kNumber,
  kMany,
  kNo,         // `no` after `there is`
  kPossessor,  // mary 's, the king 's
};

// Exactly one of pronoun, name, noun and who is set.
struct NounPhrase {
  const Pronoun* pronoun = nullptr;
  const ProperName* name = nullptr;
  const ProperName* joined_name = nullptr;  // `mary and paul`
  bool who = false;

  const Noun* noun = nullptr;
  bool plural = false;
  Determiner determiner = Determiner::kThe;
  const Pronoun* owner = nullptr;              // for kOwner
  const Invariable* number = nullptr;          // for kNumber
  const ProperName* possessor_name = nullptr;  // for kPossessor, or
  const Noun* possessor_noun = nullptr;        // with `the`
  const Adjective* preceding = nullptr;        // petit chat
  const Adjective* following = nullptr;        // chat noir
  bool superlative = false;                    // of the one adjective
  const Material* material = nullptr;
  const Noun* whole = nullptr;  // `of the house`

  Gender gender() const;
  bool is_plural() const;
  Person person() const;
};

// Positions of the English words, -1 where there is none.
struct NounPhraseSpots {
  int determiner = -1;
  int possessor = -1;
  int possessive = -1;  // 's
  int degree = -1;      // most
  int preceding = -1;
  int following = -1;
  int material = -1;
  int head = -1;
  int of = -1;
  int whole_article = -1;
  int whole = -1;
  int conjunction = -1;
  int joined_name = -1;
};

NounPhraseSpots SayNounPhrase(const NounPhrase& phrase, Draft& draft);

// `auxiliary`, if not -1, is an English word with no French of its own
// (`are` in `they are watching`); the head is linked to it too. `negated` turns
// an indefinite or absent article into `de`.
void WriteNounPhrase(const NounPhrase& phrase, const NounPhraseSpots& spots,
                     int auxiliary, bool negated, Draft& draft);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_NOUN_PHRASE_H_
