#include "experiments/data/phrasebook_sentence_maker.h"

#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_clause.h"
#include "experiments/data/phrasebook_draft.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_sentence.h"

namespace regard {
namespace {

void WriteAgreeing(const Adjective& adjective, const NounPhrase& phrase,
                   int source, Draft& draft) {
  draft.Write(adjective.French(phrase.gender(), phrase.is_plural()), {source});
}

absl::string_view FrenchVerb(const Clause& clause) {
  return clause.verb->present[static_cast<int>(clause.subject.person())];
}

}  // namespace

void SentenceMaker::NotePair(const NounPhrase& phrase, absl::string_view word) {
  if (phrase.noun != nullptr) {
    sentence_.pairs.push_back({phrase.noun->english, word});
  }
  for (const ProperName* name : {phrase.name, phrase.joined_name}) {
    if (name != nullptr) sentence_.pairs.push_back({name->english, word});
  }
}

void SentenceMaker::NotePhrase(const NounPhrase& phrase) {
  for (const ProperName* name :
       {phrase.name, phrase.joined_name, phrase.possessor_name}) {
    if (name != nullptr) sentence_.nouns.push_back(name->english);
  }
  for (const Noun* noun : {phrase.noun, phrase.possessor_noun, phrase.whole}) {
    if (noun != nullptr) sentence_.nouns.push_back(noun->english);
  }
  for (const Adjective* adjective : {phrase.preceding, phrase.following}) {
    if (adjective == nullptr) continue;
    sentence_.words.push_back(adjective->english);
    NotePair(phrase, adjective->english);
  }
}

void SentenceMaker::NoteClause(const Clause& clause) {
  NotePhrase(clause.subject);
  for (const auto* phrase :
       {&clause.object, &clause.recipient, &clause.place}) {
    if (phrase->has_value()) NotePhrase(**phrase);
  }
  sentence_.words.push_back(clause.verb->base);
  NotePair(clause.subject, clause.verb->base);
}

void SentenceMaker::AddClause(const Clause& clause) {
  RenderClause(clause, draft_);
  NoteClause(clause);
}

void SentenceMaker::AddCopula(const Copula& copula) {
  const NounPhrase& subject = copula.subject;
  const Adjective& adjective = *copula.adjective;
  const bool compares = copula.than.has_value();
  const bool more = compares && adjective.comparative.empty();

  int be = -1;
  if (copula.question) be = draft_.Say(EnglishBe(subject.person()));
  const NounPhraseSpots subject_spots = SayNounPhrase(subject, draft_);
  if (!copula.question) be = draft_.Say(EnglishBe(subject.person()));
  const int negation = copula.negated ? draft_.Say("not") : -1;
  int degree = copula.very ? draft_.Say("very") : -1;
  if (more) degree = draft_.Say("more");
  const int said =
      draft_.Say(compares && !more ? adjective.comparative : adjective.english);
  if (compares && !more) degree = said;
  const int than = compares ? draft_.Say("than") : -1;
  NounPhraseSpots than_spots;
  if (compares) than_spots = SayNounPhrase(*copula.than, draft_);

  if (copula.question) {
    draft_.Write("est-ce", {be});
    draft_.Write("que", {be}, "qu'");
  }
  WriteNounPhrase(subject, subject_spots, -1, false, draft_);
  if (copula.negated) draft_.Write("ne", {negation}, "n'");
  draft_.Write(FrenchBe(subject.person()), {be});
  if (copula.negated) draft_.Write("pas", {negation});
  if (copula.very) draft_.Write("très", {degree});
  if (compares) draft_.Write("plus", {degree});
  WriteAgreeing(adjective, subject, said, draft_);
  if (compares) {
    draft_.Write("que", {than}, "qu'");
    WriteNounPhrase(*copula.than, than_spots, -1, false, draft_);
    NotePhrase(*copula.than);
  }
  NotePhrase(subject);
  sentence_.words.push_back(adjective.english);
  NotePair(subject, adjective.english);
}

void SentenceMaker::AddExistence(const NounPhrase& phrase,
                                 const Invariable& preposition,
                                 const NounPhrase& place) {
  const bool none = phrase.determiner == Determiner::kNo;
  const int there = draft_.Say("there");
  const int be = draft_.Say(EnglishBe(phrase.person()));
  const NounPhraseSpots spots = SayNounPhrase(phrase, draft_);
  const std::vector<int> said = SayWords(preposition.english, draft_);
  const NounPhraseSpots place_spots = SayNounPhrase(place, draft_);

  draft_.Write("il", {there});
  if (none) draft_.Write("ne", {spots.determiner}, "n'");
  draft_.Write("y", {there});
  draft_.Write("a", {be});
  if (none) draft_.Write("pas", {spots.determiner});
  WriteNounPhrase(phrase, spots, -1, false, draft_);
  WritePreposition(preposition, said, draft_);
  WriteNounPhrase(place, place_spots, -1, false, draft_);
  NotePhrase(phrase);
  NotePhrase(place);
}

void SentenceMaker::AddWhere(const NounPhrase& phrase) {
  const int where = draft_.Say("where");
  const int be = draft_.Say(EnglishBe(phrase.person()));
  const NounPhraseSpots spots = SayNounPhrase(phrase, draft_);
  draft_.Write("où", {where});
  draft_.Write(FrenchBe(phrase.person()), {be});
  WriteNounPhrase(phrase, spots, -1, false, draft_);
  NotePhrase(phrase);
}

void SentenceMaker::AddWhat(const Clause& clause) {
  const int what = draft_.Say("what");
  const int be = draft_.Say(EnglishBe(clause.subject.person()));
  const NounPhraseSpots subject = SayNounPhrase(clause.subject, draft_);
  const int verb = draft_.Say(clause.verb->progressive);
  draft_.Write("qu'", {what});
  draft_.Write("est-ce", {be});
  draft_.Write("que", {be}, "qu'");
  WriteNounPhrase(clause.subject, subject, -1, false, draft_);
  draft_.Write(FrenchVerb(clause), {verb});
  NoteClause(clause);
}

void SentenceMaker::AddSubjectRelative(const NounPhrase& head,
                                       const Clause& relative,
                                       const Adjective& adjective) {
  const NounPhraseSpots head_spots = SayNounPhrase(head, draft_);
  const int who = draft_.Say("who");
  const int relative_be = draft_.Say(EnglishBe(head.person()));
  const int verb = draft_.Say(relative.verb->progressive);
  NounPhraseSpots object;
  if (relative.object) object = SayNounPhrase(*relative.object, draft_);
  const int be = draft_.Say(EnglishBe(head.person()));
  const int said = draft_.Say(adjective.english);

  WriteNounPhrase(head, head_spots, -1, false, draft_);
  draft_.Write("qui", {who, relative_be});
  draft_.Write(FrenchVerb(relative), {verb});
  if (relative.object) {
    WriteNounPhrase(*relative.object, object, -1, false, draft_);
  }
  draft_.Write(FrenchBe(head.person()), {be});
  WriteAgreeing(adjective, head, said, draft_);
  NoteClause(relative);
  sentence_.words.push_back(adjective.english);
  NotePair(head, adjective.english);
}

void SentenceMaker::AddObjectRelative(const NounPhrase& head,
                                      const Clause& relative,
                                      const Adjective& adjective) {
  const NounPhraseSpots head_spots = SayNounPhrase(head, draft_);
  const int that = draft_.Say("that");
  const NounPhraseSpots subject = SayNounPhrase(relative.subject, draft_);
  const int relative_be = draft_.Say(EnglishBe(relative.subject.person()));
  const int verb = draft_.Say(relative.verb->progressive);
  const int be = draft_.Say(EnglishBe(head.person()));
  const int said = draft_.Say(adjective.english);

  WriteNounPhrase(head, head_spots, -1, false, draft_);
  draft_.Write("que", {that}, "qu'");
  WriteNounPhrase(relative.subject, subject, relative_be, false, draft_);
  draft_.Write(FrenchVerb(relative), {verb});
  draft_.Write(FrenchBe(head.person()), {be});
  WriteAgreeing(adjective, head, said, draft_);
  NotePhrase(head);
  NoteClause(relative);
  sentence_.words.push_back(adjective.english);
  NotePair(head, adjective.english);
}

PhrasebookSentence SentenceMaker::Finish(absl::string_view construction,
                                         absl::string_view punctuation) {
  draft_.Write(punctuation, {draft_.Say(punctuation)});
  sentence_.pair = draft_.Finish();
  sentence_.construction = construction;
  return std::move(sentence_);
}

SentenceMaker OneClause(const Clause& clause) {
  SentenceMaker maker;
  maker.AddClause(clause);
  return maker;
}

}  // namespace regard
