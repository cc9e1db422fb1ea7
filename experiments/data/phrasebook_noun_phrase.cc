#include "experiments/data/phrasebook_noun_phrase.h"

#include "absl/strings/string_view.h"
#include "experiments/data/phrasebook_draft.h"
#include "experiments/data/phrasebook_lexicon.h"

namespace regard {
namespace {

absl::string_view Article(Gender gender, bool plural) {
  if (plural) return "les";
  return gender == Gender::kFeminine ? "la" : "le";
}

// The French article, or what stands in its place.
void WriteDeterminer(const NounPhrase& phrase, const NounPhraseSpots& spots,
                     bool negated, Draft& draft) {
  const bool feminine = phrase.gender() == Gender::kFeminine;
  const int at = spots.determiner;
  switch (phrase.determiner) {
    case Determiner::kThe:
      draft.WriteArticle(Article(phrase.gender(), phrase.plural), {at});
      return;
    case Determiner::kPossessor:
      draft.WriteArticle(Article(phrase.gender(), phrase.plural),
                         {spots.possessive});
      return;
    case Determiner::kNo:
      draft.Write("de", {at}, "d'");
      return;
    case Determiner::kIndefinite:
      if (negated) {
        draft.Write("de", {at}, "d'");
      } else {
        draft.Write(feminine ? "une" : "un", {at});
      }
      return;
    case Determiner::kBare:
      if (negated || (phrase.plural && phrase.preceding != nullptr)) {
        draft.Write("de", {spots.head}, "d'");
      } else if (phrase.plural) {
        draft.Write("des", {spots.head});
      } else {
        draft.Write("de", {spots.head});
        draft.WriteArticle(Article(phrase.gender(), false), {spots.head});
      }
      return;
    case Determiner::kThis:
      if (phrase.plural) {
        draft.Write("ces", {at});
      } else if (feminine) {
        draft.Write("cette", {at});
      } else {
        draft.Write("ce", {at}, "cet");
      }
      return;
    case Determiner::kOwner:
      if (phrase.plural) {
        draft.Write(phrase.owner->owned_plural, {at});
      } else if (feminine) {
        draft.Write(phrase.owner->owned_feminine, {at},
                    phrase.owner->owned_feminine_before_vowel);
      } else {
        draft.Write(phrase.owner->owned_masculine, {at});
      }
      return;
    case Determiner::kNumber:
      draft.Write(phrase.number->french, {at});
      return;
    case Determiner::kMany:
      draft.Write("beaucoup", {at});
      draft.Write("de", {at}, "d'");
      return;
  }
}

void WriteAdjective(const Adjective& adjective, const NounPhrase& phrase,
                    int at, Draft& draft) {
  draft.Write(adjective.French(phrase.gender(), phrase.plural), {at},
              phrase.plural || phrase.gender() == Gender::kFeminine
                  ? ""
                  : adjective.before_vowel);
}

// `most` links to `plus`; where there is none, `oldest` does.
int DegreeSpot(const NounPhraseSpots& spots, int adjective) {
  return spots.degree >= 0 ? spots.degree : adjective;
}

int SayAdjective(const Adjective& adjective, bool superlative,
                 NounPhraseSpots& spots, Draft& draft) {
  if (superlative && adjective.superlative.empty()) {
    spots.degree = draft.Say("most");
  } else if (superlative) {
    return draft.Say(adjective.superlative);
  }
  return draft.Say(adjective.english);
}

// The English word after the determiner, which chooses between `a` and `an`.
absl::string_view FirstModifier(const NounPhrase& phrase) {
  if (phrase.preceding != nullptr) return phrase.preceding->english;
  if (phrase.following != nullptr) return phrase.following->english;
  if (phrase.material != nullptr) return phrase.material->english;
  return phrase.noun->english;
}

void SayDeterminer(const NounPhrase& phrase, NounPhraseSpots& spots,
                   Draft& draft) {
  int& at = spots.determiner;
  switch (phrase.determiner) {
    case Determiner::kThe:
      at = draft.Say("the");
      return;
    case Determiner::kIndefinite:
      at = draft.Say(Draft::IndefiniteArticle(FirstModifier(phrase)));
      return;
    case Determiner::kBare:
      return;
    case Determiner::kThis:
      at = draft.Say(phrase.plural ? "these" : "this");
      return;
    case Determiner::kOwner:
      at = draft.Say(phrase.owner->owner);
      return;
    case Determiner::kNumber:
      at = draft.Say(phrase.number->english);
      return;
    case Determiner::kMany:
      at = draft.Say("many");
      return;
    case Determiner::kNo:
      at = draft.Say("no");
      return;
    case Determiner::kPossessor:
      if (phrase.possessor_noun != nullptr) {
        at = draft.Say("the");
        spots.possessor = draft.Say(phrase.possessor_noun->english);
      } else {
        spots.possessor = draft.Say(phrase.possessor_name->english);
      }
      spots.possessive = draft.Say("'s");
      return;
  }
}

}  // namespace

Gender NounPhrase::gender() const {
  if (noun != nullptr) return noun->gender;
  if (pronoun != nullptr) return pronoun->gender;
  if (name == nullptr) return Gender::kMasculine;
  const bool all_feminine =
      name->gender == Gender::kFeminine &&
      (joined_name == nullptr || joined_name->gender == Gender::kFeminine);
  return all_feminine ? Gender::kFeminine : Gender::kMasculine;
}

Person NounPhrase::person() const {
  if (pronoun != nullptr) return pronoun->person;
  return plural || joined_name != nullptr ? Person::kThey : Person::kSheOrHe;
}

bool NounPhrase::is_plural() const {
  return person() == Person::kWe || person() == Person::kThey;
}

NounPhraseSpots SayNounPhrase(const NounPhrase& phrase, Draft& draft) {
  NounPhraseSpots spots;
  if (phrase.who) {
    spots.head = draft.Say("who");
    return spots;
  }
  if (phrase.pronoun != nullptr) {
    spots.head = draft.Say(phrase.pronoun->subject);
    return spots;
  }
  if (phrase.name != nullptr) {
    spots.head = draft.Say(phrase.name->english);
    if (phrase.joined_name != nullptr) {
      spots.conjunction = draft.Say("and");
      spots.joined_name = draft.Say(phrase.joined_name->english);
    }
    return spots;
  }
  SayDeterminer(phrase, spots, draft);
  if (phrase.preceding != nullptr) {
    spots.preceding =
        SayAdjective(*phrase.preceding, phrase.superlative, spots, draft);
  }
  if (phrase.following != nullptr) {
    spots.following =
        SayAdjective(*phrase.following, phrase.superlative, spots, draft);
  }
  if (phrase.material != nullptr) {
    spots.material = draft.Say(phrase.material->english);
  }
  spots.head = draft.Say(phrase.plural ? phrase.noun->english_plural
                                       : phrase.noun->english);
  if (phrase.whole != nullptr) {
    spots.of = draft.Say("of");
    spots.whole_article = draft.Say("the");
    spots.whole = draft.Say(phrase.whole->english);
  }
  return spots;
}

void WriteNounPhrase(const NounPhrase& phrase, const NounPhraseSpots& spots,
                     int auxiliary, bool negated, Draft& draft) {
  if (phrase.who) {
    draft.Write("qui", {spots.head, auxiliary});
    return;
  }
  if (phrase.pronoun != nullptr) {
    draft.Write(phrase.pronoun->french_subject, {spots.head, auxiliary},
                phrase.pronoun->french_subject_before_vowel);
    return;
  }
  if (phrase.name != nullptr) {
    const bool alone = phrase.joined_name == nullptr;
    draft.Write(phrase.name->french, {spots.head, alone ? auxiliary : -1});
    if (!alone) {
      draft.Write("et", {spots.conjunction});
      draft.Write(phrase.joined_name->french, {spots.joined_name, auxiliary});
    }
    return;
  }
  WriteDeterminer(phrase, spots, negated, draft);
  if (phrase.preceding != nullptr) {
    if (phrase.superlative) {
      draft.Write("plus", {DegreeSpot(spots, spots.preceding)});
    }
    WriteAdjective(*phrase.preceding, phrase, spots.preceding, draft);
  }
  draft.Write(phrase.plural ? phrase.noun->french_plural : phrase.noun->french,
              {spots.head, auxiliary});
  if (phrase.following != nullptr) {
    if (phrase.superlative) {
      const int degree = DegreeSpot(spots, spots.following);
      draft.Write(Article(phrase.gender(), phrase.plural), {degree});
      draft.Write("plus", {degree});
    }
    WriteAdjective(*phrase.following, phrase, spots.following, draft);
  }
  if (phrase.material != nullptr) {
    draft.Write("en", {spots.material});
    draft.Write(phrase.material->french, {spots.material});
  }
  if (phrase.determiner == Determiner::kPossessor) {
    draft.Write("de", {spots.possessive}, "d'");
    if (phrase.possessor_noun != nullptr) {
      draft.WriteArticle(Article(phrase.possessor_noun->gender, false),
                         {spots.determiner});
      draft.Write(phrase.possessor_noun->french, {spots.possessor});
    } else {
      draft.Write(phrase.possessor_name->french, {spots.possessor});
    }
  }
  if (phrase.whole != nullptr) {
    draft.Write("de", {spots.of}, "d'");
    draft.WriteArticle(Article(phrase.whole->gender, false),
                       {spots.whole_article});
    draft.Write(phrase.whole->french, {spots.whole});
  }
}

}  // namespace regard
