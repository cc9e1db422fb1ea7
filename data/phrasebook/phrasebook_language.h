// The words and the grammar of the phrasebook, parsed and checked.
// phrasebook.proto documents the notation.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_LANGUAGE_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_LANGUAGE_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/phrasebook/phrasebook.pb.h"
#include "third_party/abseil_backport/check.h"

namespace regard::phrasebook {

// A set of values of Kind or Trait: their bitwise or.
using Bits = uint32_t;

template <typename Values>
Bits BitsOf(const Values& values) {
  Bits bits = 0;
  for (const int value : values) bits |= static_cast<Bits>(value);
  return bits;
}

// Returns the name of a word or a rule. If the type has no names, returns the
// first English form.
template <typename Word>
absl::string_view NameOf(const Word& word) {
  if constexpr (requires { word.name(); }) {
    return word.name();
  } else if constexpr (requires { word.english_size(); }) {
    return word.english_size() == 0 ? "" : absl::string_view(word.english(0));
  } else {
    return word.english();
  }
}

// Returns the first of `words` whose NameOf() is `name`, or null.
template <typename Words>
auto* FindWordOrNull(const Words& words, absl::string_view name) {
  const auto found =
      std::find_if(words.begin(), words.end(),
                   [&](const auto& word) { return NameOf(word) == name; });
  return found == words.end() ? nullptr : &*found;
}

// Returns the word with this name, which must exist.
template <typename Words>
const auto& FindWord(const Words& words, absl::string_view name) {
  const auto* const word = FindWordOrNull(words, name);
  REGARD_CHECK(word != nullptr) << "not in the phrasebook: " << name;
  return *word;
}

// A token of a pattern.
struct Token {
  enum class Type {
    kLiteral,
    kClause,
    kPhrase,
    kClitic,
    kVerb,
    kBase,
    kIng,
    kPast,
    kAdjective,
    kComparative,
    kAuxiliary,
    kParticle,
  };

  Type type = Type::kLiteral;
  std::string text;  // as written: "que|qu'", "BE.OBJECT"
  // The slot of the phrase, or the slot to agree with.
  Slot slot = SUBJECT;
  const Auxiliary* auxiliary = nullptr;  // if kAuxiliary
  // The English words that the token is linked to. A kPhrase is linked to them
  // in addition to its own words.
  std::vector<std::string> links;
};

// Immutable, and therefore thread-safe.
class Language {
 public:
  // Parses both texts. Returns an error that lists all problems, if any.
  static absl::StatusOr<Language> Parse(absl::string_view words,
                                        absl::string_view grammar);

  // The language of the phrasebook, parsed once and never destroyed.
  static const Language& Embedded();

  const Grammar& grammar() const { return grammar_; }

  // Returns the tokens of `text`, an `english` or `french` pattern of the
  // grammar.
  const std::vector<Token>& Tokens(const std::string& text) const {
    return tokens_.at(text);
  }

  const Pattern& FindPattern(Tense tense, bool negated, bool question) const;

  // Whether a French word makes the previous word elide: it begins with a vowel
  // or with a mute h.
  bool BeginsWithVowelSound(absl::string_view french) const;

 private:
  class Checker;

  Grammar grammar_;
  absl::flat_hash_map<std::string, std::vector<Token>> tokens_;
};

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_LANGUAGE_H_
