// Puts clauses together into one sentence and notes which words met in it.
#ifndef EXPERIMENTS_DATA_PHRASEBOOK_SENTENCE_MAKER_H_
#define EXPERIMENTS_DATA_PHRASEBOOK_SENTENCE_MAKER_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_draft.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_sentence.h"

namespace regard {

// `the cat is not very old`, `is the king richer than paul`.
struct Copula {
  NounPhrase subject;
  const Adjective* adjective = nullptr;
  bool negated = false;
  bool question = false;
  bool very = false;
  std::optional<NounPhrase> than =
      std::nullopt;  // makes the adjective a comparative
};

class SentenceMaker {
 public:
  void AddClause(const Clause& clause);
  void AddCopula(const Copula& copula);

  // `there is a cat in the garden`; `no cats` with Determiner::kNo.
  void AddExistence(const NounPhrase& phrase, const Invariable& preposition,
                    const NounPhrase& place);

  // `where is the cat`.
  void AddWhere(const NounPhrase& phrase);

  // `what is she reading`; the clause has neither object nor question.
  void AddWhat(const Clause& clause);

  // `the man who is singing is old`; the relative clause is progressive and
  // intransitive or with object, its subject is `head`.
  void AddSubjectRelative(const NounPhrase& head, const Clause& relative,
                          const Adjective& adjective);

  // `the book that she is reading is old`.
  void AddObjectRelative(const NounPhrase& head, const Clause& relative,
                         const Adjective& adjective);

  // The sentence, closed by `punctuation`. The maker is spent.
  PhrasebookSentence Finish(absl::string_view construction,
                            absl::string_view punctuation);

 private:
  void NotePhrase(const NounPhrase& phrase);
  void NoteClause(const Clause& clause);
  void NotePair(const NounPhrase& phrase, absl::string_view word);

  Draft draft_;
  PhrasebookSentence sentence_;
};

// A sentence of this one clause, without its punctuation.
SentenceMaker OneClause(const Clause& clause);

}  // namespace regard

#endif  // EXPERIMENTS_DATA_PHRASEBOOK_SENTENCE_MAKER_H_
