// A clause of the phrasebook: one verb with subject, objects, negation,
// question and tense, said in English and written in French.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_CLAUSE_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_CLAUSE_H_

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_draft.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_verb.h"

namespace regard {

enum class Tense {
  kSimple,       // sees: voit
  kProgressive,  // is eating: mange
  kPast,         // ate: a mangé
  kFuture,       // is going to eat: va manger
  kModal,        // can eat: peut manger
};

enum class Polarity { kAffirmative, kNot, kNever };

enum class Question { kNone, kYesNo, kWhy };

struct Clause {
  NounPhrase subject;
  const Verb* verb = nullptr;
  Tense tense = Tense::kProgressive;
  const Modal* modal = nullptr;                // for kModal
  Polarity polarity = Polarity::kAffirmative;  // kNever: kSimple alone
  Question question = Question::kNone;
  const Invariable* frequency = nullptr;  // kSimple, affirmative
  std::optional<NounPhrase> object = std::nullopt;
  const Pronoun* object_pronoun = nullptr;             // instead of `object`
  std::optional<NounPhrase> recipient = std::nullopt;  // `to the child`
  const Pronoun* recipient_pronoun = nullptr;  // `to him`, not both pronouns
  const Invariable* preposition = nullptr;     // several words, space between
  std::optional<NounPhrase> place = std::nullopt;  // after `preposition`
  const Invariable* time = nullptr;
};

// Says and writes the clause without its full stop or question mark.
void RenderClause(const Clause& clause, Draft& draft);

// `am`, `is` or `are`; `suis`, `est`, `sommes` or `sont`.
absl::string_view EnglishBe(Person person);
absl::string_view FrenchBe(Person person);

// Says the words of `words`, space between; returns their positions.
std::vector<int> SayWords(absl::string_view words, Draft& draft);

// Writes the French of a preposition; `de` elides, and contracts with the
// article after it. Each of its words links to all of `sources`.
void WritePreposition(const Invariable& preposition,
                      const std::vector<int>& sources, Draft& draft);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_CLAUSE_H_
