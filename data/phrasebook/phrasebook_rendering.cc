#include "data/phrasebook/phrasebook_rendering.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_draft.h"
#include "data/phrasebook/phrasebook_language.h"
#include "data/phrasebook/phrasebook_noun_phrase.h"
#include "data/phrasebook/phrasebook_sentence.h"
#include "data/phrasebook/phrasebook_sketch.h"

namespace regard::phrasebook {
namespace {

using Type = Token::Type;

class Renderer {
 public:
  Renderer(const Sketch& sketch, const Language& language)
      : sketch_(sketch), language_(language) {}

  PhrasebookSentence Run() {
    for (const Token& token : language_.Tokens(*sketch_.english)) Say(token);
    for (const Token& token : language_.Tokens(*sketch_.french)) Write(token);
    sentence_.pair = draft_.Finish(language_);
    sentence_.construction = sketch_.construction->name();
    return std::move(sentence_);
  }

 private:
  void Say(const Token& token) {
    const auto& phrase = sketch_.phrases[token.slot];
    switch (token.type) {
      case Type::kLiteral:
        draft_.Say(token.text);
        return;
      case Type::kClause:
        for (const Token& word : language_.Tokens(Clause().english()))
          Say(word);
        return;
      case Type::kPhrase:
        if (!phrase.has_value()) return;
        positions_[token.slot] =
            SayNounPhrase(*phrase, token.slot == SUBJECT, draft_);
        NotePhrase(*phrase);
        return;
      case Type::kClitic:
        return;
      case Type::kVerb:
        SayVerb(token, phrase->PersonOf() == THIRD_SINGULAR ? 1 : 0);
        return;
      case Type::kBase:
        SayVerb(token, 0);
        return;
      case Type::kIng:
        SayVerb(token, 2);
        return;
      case Type::kPast:
        SayVerb(token, 3);
        return;
      case Type::kAdjective:
      case Type::kComparative:
        SayAdjective(token);
        return;
      case Type::kAuxiliary:
        draft_.Say(token.auxiliary->english(phrase->PersonOf()), token.text);
        return;
      case Type::kParticle:
        for (const Particle* particle : sketch_.particles) {
          if (particle->token() == token.text) {
            draft_.Say(particle->english(), token.text);
          }
        }
        return;
    }
  }

  void SayVerb(const Token& token, int form) {
    draft_.Say(sketch_.verb->english(form), token.text);
    NoteWord(*sketch_.phrases[token.slot], sketch_.verb->english(0));
  }

  void SayAdjective(const Token& token) {
    const Adjective& adjective = *sketch_.adjective;
    if (token.type == Type::kAdjective) {
      draft_.Say(adjective.english(0), token.text);
    } else if (adjective.english_size() == 1) {
      draft_.Say("more", "DEGREE");
      draft_.Say(adjective.english(0), "ADJECTIVE");
    } else {
      draft_.Say(adjective.english(1), "COMPARATIVE");
    }
    NoteWord(*sketch_.phrases[token.slot], adjective.english(0));
  }

  void Write(const Token& token) {
    const auto& phrase = sketch_.phrases[token.slot];
    switch (token.type) {
      case Type::kClause:
        for (const Token& word : language_.Tokens(Clause().french()))
          Write(word);
        return;
      case Type::kClitic:
        WriteClitics();
        return;
      case Type::kPhrase:
        // Pronouns are clitics, except for the subject.
        if (phrase.has_value() &&
            (phrase->pronoun == nullptr || token.slot == SUBJECT)) {
          WriteNounPhrase(
              *phrase, positions_[token.slot], draft_.Find(token.links),
              sketch_.negated && token.slot == OBJECT, language_, draft_);
        }
        return;
      case Type::kParticle:
        for (const Particle* particle : sketch_.particles) {
          if (particle->token() == token.text) {
            draft_.Write(particle->french(), draft_.Find(token.links));
          }
        }
        return;
      default:
        draft_.Write(FrenchWord(token), draft_.Find(token.links));
    }
  }

  // Renders what is always one word.
  std::string FrenchWord(const Token& token) const {
    const auto& phrase = sketch_.phrases[token.slot];
    switch (token.type) {
      case Type::kVerb:
        return sketch_.verb->french(1 + phrase->PersonOf());
      case Type::kBase:
        return sketch_.verb->french(0);
      case Type::kPast:
        return Participle();
      case Type::kAdjective:
        return FrenchForm(*sketch_.adjective, phrase->IsFeminine(),
                          phrase->IsPlural());
      case Type::kAuxiliary:
        return token.auxiliary->french(phrase->PersonOf());
      default:
        return token.text;
    }
  }

  void WriteClitics() {
    for (const Slot slot : {OBJECT, PLACE}) {
      const auto& phrase = sketch_.phrases[slot];
      if (!phrase.has_value() || phrase->pronoun == nullptr) continue;
      Positions sources = positions_[slot].preposition;
      sources.insert(sources.end(), positions_[slot].head.begin(),
                     positions_[slot].head.end());
      draft_.Write(phrase->pronoun->french(sources.size() > 1 ? 2 : 1),
                   sources);
    }
  }

  // With avoir the participle agrees with a direct object that precedes it.
  std::string Participle() const {
    std::string participle = sketch_.verb->french(5);
    const auto& object = sketch_.phrases[OBJECT];
    if (!object.has_value() || object->pronoun == nullptr) return participle;
    if (object->IsFeminine()) participle += "e";
    if (object->IsPlural() && !absl::EndsWith(participle, "s")) {
      participle += "s";
    }
    return participle;
  }

  const Pattern& Clause() const {
    return language_.FindPattern(sketch_.tense, sketch_.negated,
                                 sketch_.question);
  }

  void NotePhrase(const NounPhrase& phrase) {
    for (const Name* name : {phrase.name, phrase.joined_name}) {
      if (name != nullptr) sentence_.nouns.push_back(name->english());
    }
    if (phrase.noun != nullptr) {
      sentence_.nouns.push_back(phrase.noun->english(0));
    }
    for (const Adjective* adjective : {phrase.preceding, phrase.following}) {
      if (adjective != nullptr) NoteWord(phrase, adjective->english(0));
    }
  }

  // A verb or adjective and the phrase that it is said of.
  void NoteWord(const NounPhrase& phrase, absl::string_view word) {
    sentence_.words.push_back(word);
    if (phrase.noun != nullptr) {
      sentence_.pairs.push_back({phrase.noun->english(0), word});
    }
    for (const Name* name : {phrase.name, phrase.joined_name}) {
      if (name != nullptr) sentence_.pairs.push_back({name->english(), word});
    }
  }

  const Sketch& sketch_;
  const Language& language_;
  Draft draft_;
  std::array<NounPhrasePositions, Slot_ARRAYSIZE> positions_;
  PhrasebookSentence sentence_;
};

}  // namespace

PhrasebookSentence Render(const Sketch& sketch, const Language& language) {
  return Renderer(sketch, language).Run();
}

}  // namespace regard::phrasebook
