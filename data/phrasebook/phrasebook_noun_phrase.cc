#include "data/phrasebook/phrasebook_noun_phrase.h"

#include <string>
#include <vector>

#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_draft.h"
#include "data/phrasebook/phrasebook_language.h"

namespace regard::phrasebook {
namespace {

Positions Joined(Positions first, const Positions& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

const std::string& DeterminerForm(const Determiner& determiner,
                                  const NounPhrase& phrase) {
  return determiner.french(phrase.plural ? 2 : phrase.IsFeminine() ? 1 : 0);
}

Positions SayAdjective(const Adjective& adjective, bool superlative,
                       NounPhrasePositions& positions, Draft& draft) {
  const bool inflects = adjective.english_size() > 1;
  if (superlative && !inflects) positions.degree = draft.Say("most");
  const Positions said =
      draft.Say(adjective.english(superlative && inflects ? 2 : 0));
  if (superlative && inflects) positions.degree = said;
  return said;
}

void WriteAdjective(const Adjective& adjective, const NounPhrase& phrase,
                    const Positions& sources, Draft& draft) {
  draft.Write(FrenchForm(adjective, phrase.IsFeminine(), phrase.plural),
              sources);
}

void WriteDeterminer(const NounPhrase& phrase,
                     const NounPhrasePositions& positions, bool negated,
                     Draft& draft) {
  const Determiner& determiner = *phrase.determiner;
  // What English has no word for is linked to the noun.
  const Positions& sources =
      positions.determiner.empty() ? positions.head : positions.determiner;
  if (negated && determiner.has_negated()) {
    draft.Write(determiner.negated(), sources);
  } else if (phrase.plural && phrase.preceding != nullptr &&
             determiner.has_before_adjective()) {
    draft.Write(determiner.before_adjective(), sources);
  } else {
    draft.Write(DeterminerForm(determiner, phrase), sources);
  }
}

}  // namespace

bool NounPhrase::IsFeminine() const {
  if (noun != nullptr) return noun->feminine();
  if (pronoun != nullptr) return pronoun->feminine();
  return name->feminine() &&
         (joined_name == nullptr || joined_name->feminine());
}

Person NounPhrase::PersonOf() const {
  if (pronoun != nullptr) return pronoun->person();
  return plural || joined_name != nullptr ? THIRD_PLURAL : THIRD_SINGULAR;
}

bool NounPhrase::IsPlural() const {
  return PersonOf() == FIRST_PLURAL || PersonOf() == THIRD_PLURAL;
}

Bits NounPhrase::Kinds() const {
  return noun == nullptr ? Bits{PEOPLE} : BitsOf(noun->kind());
}

const std::string& FrenchForm(const Adjective& adjective, bool feminine,
                              bool plural) {
  return adjective.french((plural ? 2 : 0) + (feminine ? 1 : 0));
}

NounPhrasePositions SayNounPhrase(const NounPhrase& phrase, bool subject,
                                  Draft& draft) {
  NounPhrasePositions at;
  if (phrase.preposition != nullptr) {
    at.preposition = draft.Say(phrase.preposition->english());
  }
  if (phrase.pronoun != nullptr) {
    at.head = draft.Say(phrase.pronoun->english(subject ? 0 : 1));
    return at;
  }
  if (phrase.name != nullptr) {
    at.head = draft.Say(phrase.name->english());
    if (phrase.joined_name != nullptr) {
      at.first_name = at.head;
      at.conjunction = draft.Say("and");
      at.head = draft.Say(phrase.joined_name->english());
    }
    return at;
  }
  const std::string& determiner =
      phrase.determiner->english(phrase.plural ? 1 : 0);
  if (!determiner.empty()) at.determiner = draft.Say(determiner);
  if (phrase.preceding != nullptr) {
    at.preceding =
        SayAdjective(*phrase.preceding, phrase.superlative, at, draft);
  }
  if (phrase.following != nullptr) {
    at.following =
        SayAdjective(*phrase.following, phrase.superlative, at, draft);
  }
  if (phrase.material != nullptr) {
    at.material = draft.Say(phrase.material->english());
  }
  at.head = draft.Say(phrase.noun->english(phrase.plural ? 1 : 0));
  return at;
}

void WriteNounPhrase(const NounPhrase& phrase, const NounPhrasePositions& at,
                     const Positions& extra, bool negated,
                     const Language& language, Draft& draft) {
  if (phrase.preposition != nullptr) {
    draft.Write(phrase.preposition->french(), at.preposition);
  }
  if (phrase.pronoun != nullptr) {
    draft.Write(phrase.pronoun->french(0), Joined(at.head, extra));
    return;
  }
  if (phrase.name != nullptr) {
    const Name* last = phrase.name;
    if (phrase.joined_name != nullptr) {
      draft.Write(phrase.name->french(), at.first_name);
      draft.Write("et", at.conjunction);
      last = phrase.joined_name;
    }
    draft.Write(last->french(), Joined(at.head, extra));
    return;
  }
  WriteDeterminer(phrase, at, negated, draft);
  if (phrase.preceding != nullptr) {
    if (phrase.superlative) draft.Write("plus", at.degree);
    WriteAdjective(*phrase.preceding, phrase, at.preceding, draft);
  }
  draft.Write(phrase.noun->french(phrase.plural ? 1 : 0),
              Joined(at.head, extra));
  if (phrase.following != nullptr) {
    if (phrase.superlative) {
      draft.Write(DeterminerForm(language.FindDeterminer("the"), phrase),
                  at.degree);
      draft.Write("plus", at.degree);
    }
    WriteAdjective(*phrase.following, phrase, at.following, draft);
  }
  if (phrase.material != nullptr) {
    draft.Write("en", at.material);
    draft.Write(phrase.material->french(), at.material);
  }
}

}  // namespace regard::phrasebook
