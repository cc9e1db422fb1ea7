#include "data/phrasebook/phrasebook_language.h"

#include <array>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "data/phrasebook/phrasebook_grammar_text.h"
#include "data/phrasebook/phrasebook_words_text.h"
#include "google/protobuf/text_format.h"

namespace regard::phrasebook {
namespace {

bool IsLiteral(absl::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char letter) {
    return 'A' <= letter && letter <= 'Z';
  });
}

}  // namespace

// Checks a grammar and parses the texts of its patterns.
class Language::Checker {
 public:
  explicit Checker(Language& language)
      : language_(language), grammar_(language.grammar_) {}

  std::vector<std::string> Problems() {
    CheckWords();
    for (const Pattern& pattern : grammar_.pattern()) {
      AddTexts(pattern.english(), pattern.french(), "pattern");
    }
    for (const Rule& rule : grammar_.rule()) {
      CheckSteps(rule.step(), rule.name(), /*english=*/"");
    }
    for (const Construction& construction : grammar_.construction()) {
      Require(construction.weight() > 0, construction.name(),
              "must have a weight above 0");
      AddTexts(construction.english(), construction.french(),
               construction.name());
      CheckSteps(construction.step(), construction.name(),
                 construction.english());
    }
    return std::move(problems_);
  }

 private:
  void Require(bool condition, absl::string_view where,
               absl::string_view what) {
    if (!condition) problems_.push_back(absl::StrCat(where, " ", what));
  }

  template <typename Words, typename Names>
  void RequireNamed(const Words& words, const Names& names,
                    absl::string_view where, absl::string_view what) {
    for (const absl::string_view name : names) {
      Require(FindWordOrNull(words, name) != nullptr, where,
              absl::StrCat("names an unknown ", what, ": ", name));
    }
  }

  template <typename Word>
  void CheckForms(const Word& word, int english, int french) {
    const absl::string_view name =
        word.english_size() == 0 ? "" : absl::string_view(word.english(0));
    Require(word.english_size() == english, name,
            absl::StrCat("must have ", english, " English forms"));
    Require(word.french_size() == french, name,
            absl::StrCat("must have ", french, " French forms"));
  }

  void CheckWords() {
    for (const Noun& noun : grammar_.noun()) {
      const int numbers = noun.english_size() == 1 ? 1 : 2;
      CheckForms(noun, numbers, numbers);
      Require(noun.kind_size() > 0, noun.english(0),
              "must have at least one kind");
    }
    for (const Adjective& word : grammar_.adjective()) {
      CheckForms(word, word.english_size() == 1 ? 1 : 3, 4);
    }
    for (const Verb& verb : grammar_.verb()) {
      CheckForms(verb, 4, 6);
      const Bits traits = BitsOf(verb.trait());
      Require(verb.object_size() > 0 || (traits & INTRANSITIVE) != 0,
              NameOf(verb), "must take an object or be INTRANSITIVE");
    }
    for (const Pronoun& pronoun : grammar_.pronoun()) {
      CheckForms(pronoun, 2, 3);
      CheckForms(pronoun.owner(), 2, 3);
    }
    CheckForms(grammar_.who(), 2, 3);
    for (const Determiner& word : grammar_.determiner()) CheckForms(word, 2, 3);
    for (const Auxiliary& auxiliary : grammar_.auxiliary()) {
      for (const int forms :
           {auxiliary.english_size(), auxiliary.french_size()}) {
        Require(forms == 0 || forms == 4, auxiliary.name(),
                "must have either no forms or four");
      }
    }
  }

  // `english` is the pattern of the sentence unless a step sets another one.
  template <typename Steps>
  void CheckSteps(const Steps& steps, const std::string& where,
                  const std::string& english) {
    for (const Step& step : steps) {
      if (step.has_rule()) {
        RequireNamed(grammar_.rule(), std::array{step.rule()}, where, "rule");
      }
      for (const Alternative& alternative : step.one_of()) {
        Require(alternative.weight() > 0, where,
                "must give each choice a weight above 0");
        CheckSteps(alternative.step(), where, english);
      }
      CheckSteps(step.retry().step(), where, english);
      const PhraseChoice& phrase = step.phrase();
      RequireNamed(grammar_.verb(), step.verb().one_of(), where, "verb");
      RequireNamed(grammar_.noun(), phrase.noun(), where, "noun");
      RequireNamed(grammar_.preposition(), phrase.preposition(), where,
                   "preposition");
      if (phrase.has_determiner()) {
        RequireNamed(grammar_.determiner(), std::array{phrase.determiner()},
                     where, "determiner");
      }
      RequireNamed(grammar_.particle(), step.particle(), where, "particle");
      if (step.has_english() || step.has_french()) {
        AddTexts(step.has_english() ? step.english() : english, step.french(),
                 where);
      }
    }
  }

  void AddTexts(const std::string& english, const std::string& french,
                const std::string& where) {
    AddText(english, where);
    AddText(french, where);
    std::set<absl::string_view> known;
    for (const Determiner& determiner : grammar_.determiner()) {
      known.insert(determiner.english().begin(), determiner.english().end());
    }
    for (const Token& token : language_.tokens_[english]) {
      known.insert(token.text);
      if (token.type == Token::Type::kComparative) {
        known.insert({"ADJECTIVE", "DEGREE"});
      }
    }
    for (const Token& token : language_.tokens_[french]) {
      for (const std::string& link : token.links) {
        Require(known.count(link) != 0 || token.type == Token::Type::kClitic,
                where,
                absl::StrCat("links to an unknown English word: ", token.text,
                             "(", link, ")"));
      }
    }
  }

  void AddText(const std::string& text, const std::string& where) {
    if (text.empty() || language_.tokens_.contains(text)) return;
    // Spaces inside parentheses separate links. Other spaces separate tokens.
    std::vector<std::string> words;
    bool inside = false;
    for (absl::string_view part : absl::StrSplit(text, ' ')) {
      if (inside) {
        absl::StrAppend(&words.back(), " ", part);
      } else {
        words.emplace_back(part);
      }
      inside = absl::StrContains(part, '(') || inside;
      if (absl::EndsWith(part, ")")) inside = false;
    }
    std::vector<Token>& tokens = language_.tokens_[text];
    for (const std::string& word : words) {
      tokens.push_back(ParseToken(word, where));
    }
  }

  Token ParseToken(absl::string_view word, const std::string& where) {
    using Type = Token::Type;
    constexpr std::pair<absl::string_view, Type> kTypes[] = {
        {"CLAUSE", Type::kClause},
        {"CLITIC", Type::kClitic},
        {"VERB", Type::kVerb},
        {"BASE", Type::kBase},
        {"ING", Type::kIng},
        {"PAST", Type::kPast},
        {"ADJECTIVE", Type::kAdjective},
        {"COMPARATIVE", Type::kComparative}};
    Token token;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(word, absl::MaxSplits('(', 1));
    token.text = std::string(parts.first);
    if (!parts.second.empty()) {
      token.links =
          absl::StrSplit(parts.second.substr(0, parts.second.size() - 1), ' ');
    }
    if (IsLiteral(token.text)) {
      if (token.links.empty()) token.links = {token.text};
      return token;
    }
    const std::pair<std::string, std::string> name =
        absl::StrSplit(token.text, absl::MaxSplits('.', 1));
    if (!name.second.empty()) {
      Require(Slot_Parse(name.second, &token.slot), where,
              absl::StrCat("names an unknown slot: ", token.text));
    }
    if (Slot_Parse(name.first, &token.slot)) {
      token.type = Type::kPhrase;
      return token;
    }
    if (token.links.empty()) token.links = {token.text};
    token.auxiliary = FindWordOrNull(grammar_.auxiliary(), name.first);
    token.type =
        token.auxiliary == nullptr ? Type::kParticle : Type::kAuxiliary;
    for (const auto& [known, type] : kTypes) {
      if (name.first == known) token.type = type;
    }
    const auto& particles = grammar_.particle();
    Require(token.type != Type::kParticle ||
                std::any_of(particles.begin(), particles.end(),
                            [&](const Particle& particle) {
                              return particle.token() == name.first;
                            }),
            where, absl::StrCat("has an unknown token: ", token.text));
    return token;
  }

  Language& language_;
  const Grammar& grammar_;
  std::vector<std::string> problems_;
};

absl::StatusOr<Language> Language::Parse(absl::string_view words,
                                         absl::string_view grammar) {
  Language language;
  for (const absl::string_view text : {words, grammar}) {
    Grammar part;
    if (!google::protobuf::TextFormat::ParseFromString(std::string(text),
                                                       &part)) {
      return absl::InvalidArgumentError(
          "cannot be parsed; the file must be a regard.phrasebook.Grammar in "
          "protobuf text format");
    }
    language.grammar_.MergeFrom(part);
  }
  const std::vector<std::string> problems = Checker(language).Problems();
  if (!problems.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  }
  return language;
}

const Language& Language::Embedded() {
  static const Language* const language = [] {
    absl::StatusOr<Language> parsed =
        Parse(PhrasebookWordsText(), PhrasebookGrammarText());
    REGARD_CHECK(parsed.ok()) << parsed.status().message();
    return new Language(*std::move(parsed));
  }();
  return *language;
}

const Pattern& Language::FindPattern(Tense tense, bool negated,
                                     bool question) const {
  for (const Pattern& pattern : grammar_.pattern()) {
    if (pattern.tense() == tense && pattern.negated() == negated &&
        pattern.question() == question) {
      return pattern;
    }
  }
  REGARD_CHECK(false) << "no pattern of tense " << Tense_Name(tense)
                      << ", negated " << negated << ", question " << question;
  return grammar_.pattern(0);
}

bool Language::BeginsWithVowelSound(absl::string_view french) const {
  const auto& aspirated = grammar_.aspirated();
  return std::find(aspirated.begin(), aspirated.end(), french) ==
             aspirated.end() &&
         std::any_of(grammar_.vowel().begin(), grammar_.vowel().end(),
                     [&](const std::string& vowel) {
                       return absl::StartsWith(french, vowel);
                     });
}

}  // namespace regard::phrasebook
