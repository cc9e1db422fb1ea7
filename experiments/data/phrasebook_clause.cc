#include "experiments/data/phrasebook_clause.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_draft.h"
#include "experiments/data/phrasebook_lexicon.h"
#include "experiments/data/phrasebook_noun_phrase.h"
#include "experiments/data/phrasebook_verb.h"

namespace regard {
namespace {

constexpr absl::string_view kAller[] = {"vais", "va", "allons", "vont"};

struct ClauseSpots {
  int why = -1;
  int auxiliary = -1;  // be or do, not a modal
  NounPhraseSpots subject;
  int negation = -1;
  int frequency = -1;
  int modal = -1;
  int going = -1;
  int to = -1;
  int verb = -1;
  int object_pronoun = -1;
  NounPhraseSpots object;
  int recipient_to = -1;
  int recipient_pronoun = -1;
  NounPhraseSpots recipient;
  std::vector<int> preposition;
  NounPhraseSpots place;
  int time = -1;
};

bool IsSingularThird(const Clause& clause) {
  return clause.subject.person() == Person::kSheOrHe;
}

// The auxiliary of this clause, empty if English needs none.
absl::string_view Auxiliary(const Clause& clause) {
  const bool asks_or_denies =
      clause.question != Question::kNone || clause.polarity == Polarity::kNot;
  switch (clause.tense) {
    case Tense::kProgressive:
    case Tense::kFuture:
      return EnglishBe(clause.subject.person());
    case Tense::kPast:
      return asks_or_denies ? "did" : "";
    case Tense::kModal:
      if (!clause.modal->takes_to) return "";
      break;
    case Tense::kSimple:
      break;
  }
  if (!asks_or_denies) return "";
  return IsSingularThird(clause) ? "does" : "do";
}

absl::string_view MainVerb(const Clause& clause, bool auxiliary) {
  const Verb& verb = *clause.verb;
  switch (clause.tense) {
    case Tense::kProgressive:
      return verb.progressive;
    case Tense::kPast:
      return auxiliary ? verb.base : verb.past;
    case Tense::kSimple:
      return !auxiliary && IsSingularThird(clause) ? verb.third : verb.base;
    case Tense::kFuture:
    case Tense::kModal:
      return verb.base;
  }
  return "";
}

void SayModal(const Clause& clause, bool auxiliary, ClauseSpots& spots,
              Draft& draft) {
  const Modal& modal = *clause.modal;
  spots.modal = draft.Say(
      !auxiliary && IsSingularThird(clause) ? modal.third : modal.english);
  if (!modal.takes_to && clause.polarity == Polarity::kNot) {
    spots.negation = draft.Say("not");
  }
  if (modal.takes_to) spots.to = draft.Say("to");
}

ClauseSpots SayClause(const Clause& clause, Draft& draft) {
  ClauseSpots spots;
  const absl::string_view auxiliary = Auxiliary(clause);
  const bool inverted = clause.question != Question::kNone;
  if (clause.question == Question::kWhy) spots.why = draft.Say("why");
  if (inverted) spots.auxiliary = draft.Say(auxiliary);
  spots.subject = SayNounPhrase(clause.subject, draft);
  if (!inverted && !auxiliary.empty()) spots.auxiliary = draft.Say(auxiliary);
  if (clause.polarity == Polarity::kNot && !auxiliary.empty()) {
    spots.negation = draft.Say("not");
  } else if (clause.polarity == Polarity::kNever) {
    spots.negation = draft.Say("never");
  }
  if (clause.frequency != nullptr) {
    spots.frequency = draft.Say(clause.frequency->english);
  }
  if (clause.tense == Tense::kFuture) {
    spots.going = draft.Say("going");
    spots.to = draft.Say("to");
  } else if (clause.tense == Tense::kModal) {
    SayModal(clause, !auxiliary.empty(), spots, draft);
  }
  spots.verb = draft.Say(MainVerb(clause, !auxiliary.empty()));
  if (clause.object_pronoun != nullptr) {
    spots.object_pronoun = draft.Say(clause.object_pronoun->object);
  }
  if (clause.object) spots.object = SayNounPhrase(*clause.object, draft);
  if (clause.recipient_pronoun != nullptr) {
    spots.recipient_to = draft.Say("to");
    spots.recipient_pronoun = draft.Say(clause.recipient_pronoun->object);
  } else if (clause.recipient) {
    spots.recipient_to = draft.Say("to");
    spots.recipient = SayNounPhrase(*clause.recipient, draft);
  }
  if (clause.preposition != nullptr) {
    spots.preposition = SayWords(clause.preposition->english, draft);
    spots.place = SayNounPhrase(*clause.place, draft);
  }
  if (clause.time != nullptr) spots.time = draft.Say(clause.time->english);
  return spots;
}

void WriteClitics(const Clause& clause, const ClauseSpots& spots,
                  Draft& draft) {
  if (clause.object_pronoun != nullptr) {
    draft.Write(clause.object_pronoun->direct, {spots.object_pronoun},
                clause.object_pronoun->direct_before_vowel);
  }
  if (clause.recipient_pronoun != nullptr) {
    draft.Write(clause.recipient_pronoun->indirect,
                {spots.recipient_to, spots.recipient_pronoun},
                clause.recipient_pronoun->indirect_before_vowel);
  }
}

// With avoir the participle agrees with a direct object that precedes it.
std::string Participle(const Clause& clause) {
  std::string participle(clause.verb->participle);
  const Pronoun* object = clause.object_pronoun;
  if (object == nullptr) return participle;
  if (object->gender == Gender::kFeminine) participle += "e";
  const bool plural =
      object->person == Person::kWe || object->person == Person::kThey;
  if (plural && !absl::EndsWith(participle, "s")) participle += "s";
  return participle;
}

// The conjugated word, and what it was made from. An auxiliary that already
// made `est-ce que` or `ne` made no other word.
void WriteFiniteVerb(const Clause& clause, const ClauseSpots& spots,
                     Draft& draft) {
  const int person = static_cast<int>(clause.subject.person());
  switch (clause.tense) {
    case Tense::kSimple:
    case Tense::kProgressive:
      draft.Write(clause.verb->present[person], {spots.verb});
      return;
    case Tense::kPast:
      draft.Write(FindVerb("have").present[person],
                  {spots.auxiliary >= 0 ? spots.auxiliary : spots.verb});
      return;
    case Tense::kFuture:
      draft.Write(kAller[person],
                  {clause.question == Question::kNone ? spots.auxiliary : -1,
                   spots.going});
      return;
    case Tense::kModal:
      draft.Write(clause.modal->present[person], {spots.modal});
      return;
  }
}

void WriteVerbGroup(const Clause& clause, const ClauseSpots& spots,
                    Draft& draft) {
  const bool infinitive =
      clause.tense == Tense::kFuture || clause.tense == Tense::kModal;
  const bool negative = clause.polarity != Polarity::kAffirmative;
  if (negative) {
    const bool do_made_it =
        clause.question == Question::kNone &&
        (clause.tense == Tense::kSimple || clause.tense == Tense::kModal);
    draft.Write("ne", {do_made_it ? spots.auxiliary : -1, spots.negation},
                "n'");
  }
  if (!infinitive) WriteClitics(clause, spots, draft);
  WriteFiniteVerb(clause, spots, draft);
  if (negative) {
    draft.Write(clause.polarity == Polarity::kNever ? "jamais" : "pas",
                {spots.negation});
  }
  if (clause.frequency != nullptr) {
    draft.Write(clause.frequency->french, {spots.frequency});
  }
  if (infinitive) {
    WriteClitics(clause, spots, draft);
    draft.Write(clause.verb->infinitive, {spots.to, spots.verb});
  } else if (clause.tense == Tense::kPast) {
    draft.Write(Participle(clause), {spots.verb});
  }
}

void WriteClause(const Clause& clause, const ClauseSpots& spots, Draft& draft) {
  if (clause.question == Question::kWhy) draft.Write("pourquoi", {spots.why});
  const bool asks = clause.question != Question::kNone;
  if (asks) {
    draft.Write("est-ce", {spots.auxiliary});
    draft.Write("que", {spots.auxiliary}, "qu'");
  }
  const bool auxiliary_is_silent = !asks && clause.tense == Tense::kProgressive;
  WriteNounPhrase(clause.subject, spots.subject,
                  auxiliary_is_silent ? spots.auxiliary : -1,
                  /*negated=*/false, draft);
  WriteVerbGroup(clause, spots, draft);
  if (clause.object) {
    WriteNounPhrase(*clause.object, spots.object, /*auxiliary=*/-1,
                    clause.polarity != Polarity::kAffirmative, draft);
  }
  if (clause.recipient && clause.recipient_pronoun == nullptr) {
    draft.Write("à", {spots.recipient_to});
    WriteNounPhrase(*clause.recipient, spots.recipient, -1, false, draft);
  }
  if (clause.preposition != nullptr) {
    WritePreposition(*clause.preposition, spots.preposition, draft);
    WriteNounPhrase(*clause.place, spots.place, -1, false, draft);
  }
  if (clause.time != nullptr) draft.Write(clause.time->french, {spots.time});
}

}  // namespace

absl::string_view EnglishBe(Person person) {
  if (person == Person::kI) return "am";
  return person == Person::kSheOrHe ? "is" : "are";
}

absl::string_view FrenchBe(Person person) {
  constexpr absl::string_view kBe[] = {"suis", "est", "sommes", "sont"};
  return kBe[static_cast<int>(person)];
}

std::vector<int> SayWords(absl::string_view words, Draft& draft) {
  std::vector<int> positions;
  for (absl::string_view word : absl::StrSplit(words, ' ')) {
    positions.push_back(draft.Say(word));
  }
  return positions;
}

void WritePreposition(const Invariable& preposition,
                      const std::vector<int>& sources, Draft& draft) {
  for (absl::string_view word : absl::StrSplit(preposition.french, ' ')) {
    draft.Write(word, sources, word == "de" ? "d'" : "");
  }
}

void RenderClause(const Clause& clause, Draft& draft) {
  WriteClause(clause, SayClause(clause, draft), draft);
}

}  // namespace regard
