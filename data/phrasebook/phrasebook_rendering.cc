#include "data/phrasebook/phrasebook_rendering.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "data/phrasebook/phrasebook.pb.h"

namespace regard::phrasebook {
namespace {

using Type = Token::Type;
// Positions of English words, from 0.
using Positions = absl::InlinedVector<int, 4>;

struct EnglishWord {
  absl::string_view text;
  absl::string_view label;
};

// One word, or several words separated by spaces.
struct FrenchWord {
  std::string text;
  Positions sources;  // English words that the word is linked to
  bool head = false;  // noun, last name or pronoun of a noun phrase
};

const std::string& DeterminerForm(const Determiner& determiner,
                                  const NounPhrase& phrase) {
  return determiner.french(phrase.plural ? 2 : phrase.IsFeminine() ? 1 : 0);
}

const std::string& AdjectiveForm(const Adjective& adjective, bool feminine,
                                 bool plural) {
  return adjective.french((plural ? 2 : 0) + (feminine ? 1 : 0));
}

// Chooses between the forms of `x|y`: y if the next word begins with a vowel
// sound, and x otherwise.
template <typename Words, typename BeginsWithVowel>
void ChooseForms(Words& words, BeginsWithVowel begins_with_vowel) {
  for (size_t i = 0; i < words.size(); ++i) {
    auto& text = words[i].text;
    const size_t bar = text.find('|');
    if (bar == text.npos) continue;
    const bool vowel =
        i + 1 < words.size() && begins_with_vowel(words[i + 1].text);
    text = vowel ? text.substr(bar + 1) : text.substr(0, bar);
  }
}

class Renderer {
 public:
  Renderer(const Sketch& sketch, const Language& language)
      : sketch_(sketch), language_(language) {}

  PhrasebookSentence Run() {
    for (const Token& token : language_.Tokens(*sketch_.english)) Say(token);
    for (const Token& token : language_.Tokens(*sketch_.french)) Write(token);
    sentence_.construction = sketch_.construction->name();
    Finish();
    return std::move(sentence_);
  }

 private:
  void Say(const Token& token) {
    const auto& phrase = sketch_.phrases[token.slot];
    switch (token.type) {
      case Type::kLiteral:
        Say(token.text);
        return;
      case Type::kClause:
        for (const Token& word : language_.Tokens(Clause().english())) {
          Say(word);
        }
        return;
      case Type::kPhrase:
        if (!phrase.has_value()) return;
        SayPhrase(*phrase, token.slot);
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
        Say(token.auxiliary->english(phrase->PersonOf()), token.text);
        return;
      case Type::kParticle:
        for (const Particle* particle : sketch_.particles) {
          if (particle->token() == token.text) {
            Say(particle->english(), token.text);
          }
        }
        return;
    }
  }

  // Appends English words, separated by spaces, and returns their positions.
  // Find() finds each word by `label` or by its own text.
  Positions Say(absl::string_view english, absl::string_view label = "") {
    Positions positions;
    for (absl::string_view word : absl::StrSplit(english, ' ')) {
      positions.push_back(static_cast<int>(english_.size()));
      english_.push_back({word, label});
    }
    return positions;
  }

  // Returns the positions of the English words with these labels.
  Positions Find(const std::vector<std::string>& labels) const {
    Positions positions;
    for (const std::string& label : labels) {
      for (size_t i = 0; i < english_.size(); ++i) {
        if (english_[i].text == label || english_[i].label == label) {
          positions.push_back(static_cast<int>(i));
        }
      }
    }
    return positions;
  }

  // Appends a noun phrase in English. Stores its French words with their links.
  void SayPhrase(const NounPhrase& phrase, Slot slot) {
    std::vector<FrenchWord>& french = french_phrases_[slot] = {};
    const auto say = [&](const std::string& text, absl::string_view english) {
      french.push_back({text, Say(english)});
    };
    if (phrase.preposition != nullptr) {
      say(phrase.preposition->french(), phrase.preposition->english());
    }
    std::vector<FrenchWord> after;
    if (phrase.pronoun != nullptr) {
      say(phrase.pronoun->french(0),
          phrase.pronoun->english(slot == SUBJECT ? 0 : 1));
    } else if (phrase.name != nullptr) {
      say(phrase.name->french(), phrase.name->english());
      if (phrase.joined_name != nullptr) {
        say("et", "and");
        say(phrase.joined_name->french(), phrase.joined_name->english());
      }
    } else {
      const size_t determiner = french.size();
      SayDeterminer(phrase, sketch_.negated && slot == OBJECT, french);
      if (phrase.preceding != nullptr) {
        SayAdjective(*phrase.preceding, phrase, "plus", french);
      }
      if (phrase.following != nullptr) {
        const Determiner& the =
            FindWord(language_.grammar().determiner(), "the");
        SayAdjective(*phrase.following, phrase,
                     absl::StrCat(DeterminerForm(the, phrase), " plus"), after);
      }
      if (phrase.material != nullptr) {
        after.push_back({absl::StrCat("en ", phrase.material->french()),
                         Say(phrase.material->english())});
      }
      const int number = phrase.plural ? 1 : 0;
      say(phrase.noun->french(number), phrase.noun->english(number));
      // A determiner without an English word is linked to the noun.
      Positions& sources = french[determiner].sources;
      if (sources.empty()) sources = french.back().sources;
    }
    french.back().head = true;
    french.insert(french.end(), after.begin(), after.end());
  }

  // Appends a determiner. `negated` is true for the object of a negated verb.
  void SayDeterminer(const NounPhrase& phrase, bool negated,
                     std::vector<FrenchWord>& french) {
    const Determiner& determiner = *phrase.determiner;
    const std::string& english = determiner.english(phrase.plural ? 1 : 0);
    std::string text = DeterminerForm(determiner, phrase);
    if (negated && determiner.has_negated()) {
      text = determiner.negated();
    } else if (phrase.plural && phrase.preceding != nullptr &&
               determiner.has_before_adjective()) {
      text = determiner.before_adjective();
    }
    french.push_back({text, english.empty() ? Positions() : Say(english)});
  }

  // Appends an adjective. `most` is the French word before a superlative.
  void SayAdjective(const Adjective& adjective, const NounPhrase& phrase,
                    const std::string& most, std::vector<FrenchWord>& french) {
    const bool inflects = adjective.english_size() > 1;
    Positions degree;
    if (phrase.superlative && !inflects) degree = Say("most");
    const Positions said =
        Say(adjective.english(phrase.superlative && inflects ? 2 : 0));
    if (phrase.superlative) french.push_back({most, inflects ? said : degree});
    french.push_back(
        {AdjectiveForm(adjective, phrase.IsFeminine(), phrase.plural), said});
  }

  void SayVerb(const Token& token, int form) {
    Say(sketch_.verb->english(form), token.text);
    NoteWord(*sketch_.phrases[token.slot], sketch_.verb->english(0));
  }

  void SayAdjective(const Token& token) {
    const Adjective& adjective = *sketch_.adjective;
    if (token.type == Type::kAdjective) {
      Say(adjective.english(0), token.text);
    } else if (adjective.english_size() == 1) {
      Say("more", "DEGREE");
      Say(adjective.english(0), "ADJECTIVE");
    } else {
      Say(adjective.english(1), "COMPARATIVE");
    }
    NoteWord(*sketch_.phrases[token.slot], adjective.english(0));
  }

  void Write(const Token& token) {
    const auto& phrase = sketch_.phrases[token.slot];
    switch (token.type) {
      case Type::kClause:
        for (const Token& word : language_.Tokens(Clause().french())) {
          Write(word);
        }
        return;
      case Type::kClitic:
        WriteClitics();
        return;
      case Type::kPhrase:
        // Pronouns are clitics, except for subjects.
        if (phrase.has_value() &&
            (phrase->pronoun == nullptr || token.slot == SUBJECT)) {
          WritePhrase(french_phrases_[token.slot], Find(token.links));
        }
        return;
      case Type::kParticle:
        for (const Particle* particle : sketch_.particles) {
          if (particle->token() == token.text) {
            Write(particle->french(), Find(token.links));
          }
        }
        return;
      default:
        Write(WordInFrench(token), Find(token.links));
    }
  }

  // Appends French words, separated by spaces, each linked to all of `sources`.
  void Write(absl::string_view french, const Positions& sources) {
    for (absl::string_view word : absl::StrSplit(french, ' ')) {
      french_.push_back({std::string(word), sources});
    }
  }

  // Appends a noun phrase, and also links its head to `extra`.
  void WritePhrase(const std::vector<FrenchWord>& phrase,
                   const Positions& extra) {
    for (const FrenchWord& word : phrase) {
      Positions sources = word.sources;
      if (word.head) sources.insert(sources.end(), extra.begin(), extra.end());
      Write(word.text, sources);
    }
  }

  // Renders a token that is always one word.
  std::string WordInFrench(const Token& token) const {
    const auto& phrase = sketch_.phrases[token.slot];
    switch (token.type) {
      case Type::kVerb:
        return sketch_.verb->french(1 + phrase->PersonOf());
      case Type::kBase:
        return sketch_.verb->french(0);
      case Type::kPast:
        return Participle();
      case Type::kAdjective:
        return AdjectiveForm(*sketch_.adjective, phrase->IsFeminine(),
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
      Positions sources;
      for (const FrenchWord& word : french_phrases_[slot]) {
        sources.insert(sources.end(), word.sources.begin(), word.sources.end());
      }
      Write(phrase->pronoun->french(sources.size() > 1 ? 2 : 1), sources);
    }
  }

  // With avoir, the participle agrees with a direct object that precedes it.
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

  // Applies spelling rules and contractions (`de le` becomes `du`), and sorts
  // the links.
  void Finish() {
    SentencePair& pair = sentence_.pair;
    ChooseForms(english_, [](absl::string_view word) {
      return absl::StrContains("aeiou", word.front());
    });
    for (const EnglishWord& word : english_) {
      pair.source.emplace_back(word.text);
    }
    ChooseForms(french_, [&](absl::string_view word) {
      return language_.BeginsWithVowelSound(word);
    });
    for (size_t i = 0; i < french_.size(); ++i) {
      FrenchWord word = std::move(french_[i]);
      for (const Contraction& rule : language_.grammar().contraction()) {
        if (i + 1 < french_.size() && word.text == rule.preposition() &&
            french_[i + 1].text == rule.article()) {
          word.text = rule.contracted();
          const Positions& more = french_[++i].sources;
          word.sources.insert(word.sources.end(), more.begin(), more.end());
          break;
        }
      }
      const int target = static_cast<int>(pair.target.size());
      for (int source : word.sources) {
        pair.alignment.push_back({target, source});
      }
      pair.target.push_back(std::move(word.text));
    }
    std::sort(pair.alignment.begin(), pair.alignment.end());
    pair.alignment.erase(
        std::unique(pair.alignment.begin(), pair.alignment.end()),
        pair.alignment.end());
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

  // Records a verb or adjective, and the noun or names that it applies to.
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
  std::vector<EnglishWord> english_;
  std::vector<FrenchWord> french_;
  std::array<std::vector<FrenchWord>, Slot_ARRAYSIZE> french_phrases_;
  PhrasebookSentence sentence_;
};

}  // namespace

PhrasebookSentence Render(const Sketch& sketch, const Language& language) {
  return Renderer(sketch, language).Run();
}

}  // namespace regard::phrasebook
