// A noun phrase of the phrasebook, in English and in French with articles,
// agreement and the place of adjectives.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_NOUN_PHRASE_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_NOUN_PHRASE_H_

#include <string>
#include <vector>

#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_draft.h"
#include "data/phrasebook/phrasebook_language.h"

namespace regard::phrasebook {

// Exactly one of pronoun, name and noun is set.
struct NounPhrase {
  const Particle* preposition = nullptr;
  const Pronoun* pronoun = nullptr;
  const Name* name = nullptr;
  const Name* joined_name = nullptr;  // `mary and paul`
  const Noun* noun = nullptr;
  // With a noun:
  const Determiner* determiner = nullptr;
  bool plural = false;
  const Adjective* preceding = nullptr;  // petit chat
  const Adjective* following = nullptr;  // chat noir
  bool superlative = false;              // of the one adjective
  const Material* material = nullptr;

  bool IsFeminine() const;
  Person PersonOf() const;
  bool IsPlural() const;  // as a subject
  Bits Kinds() const;     // of pronouns and names, PEOPLE
};

// Positions of the English words.
struct NounPhrasePositions {
  Positions preposition;
  Positions determiner;
  Positions degree;  // of a superlative: `most`, or the adjective
  Positions preceding;
  Positions following;
  Positions material;
  Positions first_name;
  Positions conjunction;
  Positions head;
};

// `subject`: of a pronoun, whether `i` or `me`.
NounPhrasePositions SayNounPhrase(const NounPhrase& phrase, bool subject,
                                  Draft& draft);

// The head is linked to `extra` too. `negated`: it is the object of a negated
// verb. A pronoun is written as a subject.
void WriteNounPhrase(const NounPhrase& phrase,
                     const NounPhrasePositions& positions,
                     const Positions& extra, bool negated,
                     const Language& language, Draft& draft);

// The French form of an adjective.
const std::string& FrenchForm(const Adjective& adjective, bool feminine,
                              bool plural);

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_NOUN_PHRASE_H_
