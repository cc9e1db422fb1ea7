#include "data/phrasebook/phrasebook_sketch.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"
#include "third_party/abseil_backport/check.h"

namespace regard::phrasebook {
namespace {

using ::google::protobuf::RepeatedPtrField;

constexpr Bits kAnything = ~Bits{0};
// The probability of adding an adjective to a noun, in percent. Two adjectives
// are drawn, each with this probability.
constexpr int kAdjectivePercent = 30;

// Draws one of `choices` with a probability proportional to its weight.
template <typename Choice>
const Choice& ChooseByWeight(const RepeatedPtrField<Choice>& choices,
                             PhrasebookRandom& random) {
  int total = 0;
  for (const Choice& choice : choices) total += choice.weight();
  int draw = random.UniformInt(total);
  int chosen = 0;
  while ((draw -= choices[chosen].weight()) >= 0) ++chosen;
  return choices[chosen];
}

class Drawer {
 public:
  Drawer(const Construction& construction, const Grammar& grammar,
         PhrasebookRandom& random)
      : grammar_(grammar), random_(random) {
    sketch_.construction = &construction;
    sketch_.english = &construction.english();
    sketch_.french = &construction.french();
  }

  void Run(const RepeatedPtrField<Step>& steps) {
    for (const Step& step : steps) Run(step);
  }

  Sketch Finish() { return std::move(sketch_); }

 private:
  void Run(const Step& step) {
    if (step.has_percent() && !random_.Chance(step.percent())) return;
    if (step.has_rule()) Run(FindWord(grammar_.rule(), step.rule()).step());
    if (step.one_of_size() > 0) {
      Run(ChooseByWeight(step.one_of(), random_).step());
    }
    if (step.has_retry()) Run(step.retry());
    if (step.has_verb()) Run(step.verb());
    if (step.has_phrase()) Run(step.phrase());
    if (step.has_adjective()) {
      sketch_.adjective =
          ChooseAdjective(Phrase(step.adjective().of()).ReferentKinds(),
                          /*predicative=*/true, step.adjective().graded());
      REGARD_CHECK(sketch_.adjective != nullptr)
          << "no adjective is said of it";
    }
    if (step.particle_size() > 0) {
      sketch_.particles.push_back(
          &ChooseNamed(grammar_.particle(), step.particle()));
    }
    if (step.has_tense()) sketch_.tense = step.tense();
    if (step.has_negated()) sketch_.negated = step.negated();
    if (step.has_question()) sketch_.question = step.question();
    if (step.has_english()) sketch_.english = &step.english();
    if (step.has_french()) sketch_.french = &step.french();
  }

  void Run(const Retry& retry) {
    const Sketch before = sketch_;
    do {
      sketch_ = before;
      Run(retry.step());
    } while (!IsTrue(retry));
  }

  bool IsTrue(const Retry& retry) {
    const Bits objects =
        sketch_.verb == nullptr ? 0 : BitsOf(sketch_.verb->object());
    if (retry.takes_size() > 0 && (objects & BitsOf(retry.takes())) == 0) {
      return false;
    }
    if ((objects & BitsOf(retry.takes_no())) != 0) return false;
    if (retry.has_takes_slot() &&
        (objects & Phrase(retry.takes_slot()).ReferentKinds()) == 0) {
      return false;
    }
    return !retry.subject_is_not_i() ||
           Phrase(SUBJECT).PersonOf() != FIRST_SINGULAR;
  }

  void Run(const VerbChoice& choice) {
    if (choice.one_of_size() > 0) {
      sketch_.verb = &ChooseNamed(grammar_.verb(), choice.one_of());
    } else {
      const Bits with = BitsOf(choice.with());
      const Bits without =
          BitsOf(choice.without()) | BitsOf(sketch_.construction->without());
      sketch_.verb = ChooseIf(grammar_.verb(), [&](const Verb& verb) {
        const Bits traits = BitsOf(verb.trait());
        return (traits & with) == with && (traits & without) == 0 &&
               (!choice.transitive() || verb.object_size() > 0);
      });
      REGARD_CHECK(sketch_.verb != nullptr) << "no verb has these traits";
    }
    sketch_.tense = HasTrait(STATIVE) ? SIMPLE : PROGRESSIVE;
  }

  void Run(const PhraseChoice& choice) {
    std::optional<NounPhrase>& slot = sketch_.phrases[choice.slot()];
    const Particle* preposition =
        slot.has_value() ? slot->preposition : nullptr;
    if (choice.preposition_size() > 0) {
      preposition = &ChooseNamed(grammar_.preposition(), choice.preposition());
    }
    NounPhrase phrase = ChoosePhrase(choice);
    phrase.preposition = preposition;
    if (choice.singular()) phrase.plural = false;
    if (choice.plural()) phrase.plural = true;
    if (choice.has_determiner()) {
      phrase.determiner = &FindDeterminer(choice.determiner());
    }
    if (choice.plain()) phrase.preceding = phrase.following = nullptr;
    if (choice.superlative()) {
      phrase.superlative = true;
      SetAdjective(ChooseAdjective(phrase.ReferentKinds(), false, true),
                   phrase);
    }
    if (choice.has_adjective_percent()) {
      AddAdjectives(choice.adjective_percent(), phrase);
    }
    slot = phrase;
  }

  NounPhrase ChoosePhrase(const PhraseChoice& choice) {
    if (choice.has_same_as()) return Phrase(choice.same_as());
    switch (choice.form()) {
      case UNCHANGED:
        return sketch_.phrases[choice.slot()].value_or(NounPhrase());
      case NOUN:
        return {.noun = &ChooseNoun(choice)};
      case THE: {
        NounPhrase phrase = With("the", ChooseNoun(choice));
        phrase.plural = choice.has_plural_percent() && IsCounted(phrase) &&
                        random_.Chance(choice.plural_percent());
        return phrase;
      }
      case DEFINITE:
        return ChooseDefinite(ChooseNoun(choice));
      case INDEFINITE:
        return ChooseIndefinite(choice);
      case BARE: {
        NounPhrase phrase = With("bare", ChooseNoun(choice));
        phrase.plural = IsCounted(phrase);
        return phrase;
      }
      case PRONOUN:
        return {.pronoun = &Choose(grammar_.pronoun())};
      case OTHER_PRONOUN:
        return {.pronoun = &ChooseOtherPronoun(Phrase(SUBJECT))};
      case NAME:
        return {.name = &Choose(grammar_.name())};
      case TWO_NAMES: {
        NounPhrase phrase{.name = &Choose(grammar_.name())};
        phrase.joined_name = &Choose(grammar_.name());
        return phrase;
      }
      case WHO:
        return {.pronoun = &grammar_.who()};
      case DOER:
        return ChooseDoer();
      case DONE_TO:
        return ChooseDoneTo();
      case COMPARED:
        return ChooseCompared();
    }
    return {};
  }

  // Draws a phrase such as `the old cat`, `this cat` or `my cat`.
  NounPhrase ChooseDefinite(const Noun& noun) {
    NounPhrase phrase = With("the", noun);
    phrase.plural = IsCounted(phrase) && random_.Chance(30);
    const int draw = random_.UniformInt(100);
    const Bits kinds = phrase.ReferentKinds();
    if ((kinds & KIN) != 0 || (draw < 20 && (kinds & OWNED) != 0)) {
      phrase.determiner = &Choose(grammar_.pronoun()).owner();
    } else if (draw < 35) {
      phrase.determiner = &FindDeterminer("this");
    }
    AddAdjectives(kAdjectivePercent, phrase);
    return phrase;
  }

  NounPhrase ChooseIndefinite(const PhraseChoice& choice) {
    const Material* material =
        choice.material() ? &Choose(grammar_.material()) : nullptr;
    NounPhrase phrase = ChooseIndefinite(
        material == nullptr ? ChooseNoun(choice)
                            : ChooseNoun(BitsOf(material->fits())));
    phrase.material = material;
    // Avoids phrases such as `a red silver ring`.
    if (material != nullptr) phrase.following = nullptr;
    return phrase;
  }

  // Draws a phrase such as `an old cat`, `three cats`, `cats` or `water`.
  NounPhrase ChooseIndefinite(const Noun& noun) {
    NounPhrase phrase = With("the", noun);
    const int draw = random_.UniformInt(100);
    absl::string_view determiner = "bare";
    if (IsCounted(phrase)) {
      phrase.plural = draw >= 45;
      if (phrase.plural) {
        constexpr absl::string_view kNumbers[] = {"two", "three", "four",
                                                  "five"};
        const absl::string_view number = kNumbers[random_.UniformInt(4)];
        determiner = draw < 65 ? "bare" : draw < 85 ? number : "many";
      } else {
        determiner = "a";
      }
    }
    phrase.determiner = &FindDeterminer(determiner);
    AddAdjectives(kAdjectivePercent, phrase);
    return phrase;
  }

  NounPhrase ChooseDoer() {
    const int draw = random_.UniformInt(100);
    if (draw < 40) return {.pronoun = &Choose(grammar_.pronoun())};
    if (draw < 52) return {.name = &Choose(grammar_.name())};
    const bool animal = HasTrait(ANIMALS_TOO) && random_.Chance(50);
    const Noun& noun = ChooseNoun(animal ? Bits{ANIMAL} : Bits{PEOPLE});
    if (draw < 92 || (BitsOf(noun.kind()) & KIN) != 0) {
      return ChooseDefinite(noun);
    }
    NounPhrase phrase = With("a", noun);
    AddAdjectives(kAdjectivePercent, phrase);
    return phrase;
  }

  NounPhrase ChooseDoneTo() {
    const Noun& noun = ChooseNoun(BitsOf(sketch_.verb->object()));
    const bool definite =
        HasTrait(DEFINITE_OBJECT) ||
        (!HasTrait(INDEFINITE_OBJECT) &&
         ((BitsOf(noun.kind()) & KIN) != 0 || random_.Chance(55)));
    return definite ? ChooseDefinite(noun) : ChooseIndefinite(noun);
  }

  // Avoids `i see me`, `we see me` and `he sees him`.
  const Pronoun& ChooseOtherPronoun(const NounPhrase& subject) {
    const auto speaks = [](Person person) {
      return person == FIRST_SINGULAR || person == FIRST_PLURAL;
    };
    while (true) {
      const Pronoun& pronoun = Choose(grammar_.pronoun());
      if (&pronoun != subject.pronoun &&
          !(speaks(subject.PersonOf()) && speaks(pronoun.person()))) {
        return pronoun;
      }
    }
  }

  NounPhrase ChooseCompared() {
    const Bits common = Phrase(SUBJECT).ReferentKinds() &
                        (BitsOf(sketch_.adjective->kind()) |
                         BitsOf(sketch_.adjective->predicative()));
    NounPhrase phrase = ChooseDefinite(ChooseNoun(common));
    phrase.preceding = phrase.following = nullptr;
    if ((common & PEOPLE) != 0 && random_.Chance(30)) {
      phrase = {.name = &Choose(grammar_.name())};
    }
    return phrase;
  }

  // Adds up to two random adjectives to a phrase that has none.
  void AddAdjectives(int percent, NounPhrase& phrase) {
    for (int i = 0; i < 2; ++i) {
      if (!random_.Chance(percent)) continue;
      const Adjective* adjective =
          ChooseAdjective(phrase.ReferentKinds(), /*predicative=*/false,
                          /*graded=*/false);
      if (adjective != nullptr) SetAdjective(adjective, phrase);
    }
  }

  static void SetAdjective(const Adjective* adjective, NounPhrase& phrase) {
    (adjective->precedes() ? phrase.preceding : phrase.following) = adjective;
  }

  // Draws an adjective for a noun of these kinds: a predicate if `predicative`,
  // and otherwise an attribute. If `graded`, the adjective must have a
  // comparative. Returns null if no adjective fits.
  const Adjective* ChooseAdjective(Bits kinds, bool predicative, bool graded) {
    return ChooseIf(grammar_.adjective(), [&](const Adjective& adjective) {
      const Bits fits = BitsOf(adjective.kind()) |
                        BitsOf(predicative ? adjective.predicative()
                                           : adjective.attributive());
      return (fits & kinds) != 0 && (!graded || adjective.graded());
    });
  }

  const Noun& ChooseNoun(const PhraseChoice& choice) {
    if (choice.noun_size() > 0) {
      return ChooseNamed(grammar_.noun(), choice.noun());
    }
    const auto& slot = sketch_.phrases[choice.slot()];
    const bool any = choice.kind_size() == 0;
    if (any && !choice.of_verb() && slot.has_value() && slot->noun != nullptr) {
      return *slot->noun;
    }
    Bits kinds = any ? kAnything : BitsOf(choice.kind());
    const auto& subject = sketch_.phrases[SUBJECT];
    if (choice.kind_for_animals_size() > 0 && subject.has_value() &&
        (subject->ReferentKinds() & ANIMAL) != 0) {
      kinds = BitsOf(choice.kind_for_animals());
    }
    if (choice.of_verb()) kinds &= BitsOf(sketch_.verb->object());
    return ChooseNoun(kinds & ~BitsOf(choice.but_not()));
  }

  const Noun& ChooseNoun(Bits kinds) {
    const Noun* noun = ChooseIf(grammar_.noun(), [&](const Noun& word) {
      return (BitsOf(word.kind()) & kinds) != 0;
    });
    REGARD_CHECK(noun != nullptr) << "no noun of kinds " << kinds;
    return *noun;
  }

  template <typename Word>
  const Word& Choose(const RepeatedPtrField<Word>& words) {
    return words[random_.UniformInt(words.size())];
  }

  // Chooses from a list in the grammar. Draws no random number if the list has
  // one word.
  template <typename Word>
  const Word& ChooseNamed(const RepeatedPtrField<Word>& words,
                          const RepeatedPtrField<std::string>& names) {
    return FindWord(words, names.size() == 1 ? names[0] : Choose(names));
  }

  // Chooses one of the words that fit. Returns null if no word fits.
  template <typename Word, typename Fits>
  const Word* ChooseIf(const RepeatedPtrField<Word>& words, Fits fits) {
    fitting_.clear();
    for (int i = 0; i < words.size(); ++i) {
      if (fits(words[i])) fitting_.push_back(i);
    }
    const auto count = static_cast<int>(fitting_.size());
    return count == 0 ? nullptr : &words[fitting_[random_.UniformInt(count)]];
  }

  const NounPhrase& Phrase(Slot slot) const {
    REGARD_CHECK(sketch_.phrases[slot].has_value())
        << sketch_.construction->name() << " has no " << Slot_Name(slot);
    return *sketch_.phrases[slot];
  }

  const Determiner& FindDeterminer(absl::string_view name) const {
    return FindWord(grammar_.determiner(), name);
  }

  NounPhrase With(absl::string_view determiner, const Noun& noun) const {
    return {.noun = &noun, .determiner = &FindDeterminer(determiner)};
  }

  static bool IsCounted(const NounPhrase& phrase) {
    return phrase.noun->english_size() > 1;
  }

  bool HasTrait(Trait trait) const {
    return (BitsOf(sketch_.verb->trait()) & trait) != 0;
  }

  const Grammar& grammar_;
  PhrasebookRandom& random_;
  Sketch sketch_;
  std::vector<int> fitting_;
};

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

Bits NounPhrase::ReferentKinds() const {
  return noun == nullptr ? Bits{PEOPLE} : BitsOf(noun->kind());
}

const Construction& DrawConstruction(const Language& language,
                                     PhrasebookRandom& random) {
  return ChooseByWeight(language.grammar().construction(), random);
}

Sketch DrawSketch(const Construction& construction, const Language& language,
                  PhrasebookRandom& random) {
  Drawer drawer(construction, language.grammar(), random);
  drawer.Run(construction.step());
  return drawer.Finish();
}

}  // namespace regard::phrasebook
