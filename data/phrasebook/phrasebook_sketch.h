// Draws the parts of a sentence so that they make sense together: only food is
// eaten, and only people laugh.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_SKETCH_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_SKETCH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/phrasebook/phrasebook.pb.h"
#include "data/phrasebook/phrasebook_language.h"

namespace regard::phrasebook {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014), a bijection.
inline uint64_t MixBits(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// The random integers of the phrasebook. They use no standard distribution, so
// that every compiler and library draws the same sentences.
class PhrasebookRandom {
 public:
  explicit PhrasebookRandom(uint64_t seed) : state_(seed) {}

  // Returns a number that is uniform in [0, bound), where 0 < bound < 2^31. The
  // bias is below bound / 2^32.
  int UniformInt(int bound) {
    const uint64_t high = MixBits(state_ += 0x9e3779b97f4a7c15u) >> 32;
    return static_cast<int>((high * static_cast<uint64_t>(bound)) >> 32);
  }

  // Returns true with a probability of `percent` / 100.
  bool Chance(int percent) { return UniformInt(100) < percent; }

 private:
  uint64_t state_;
};

// A noun phrase. Exactly one of pronoun, name and noun is set.
struct NounPhrase {
  const Particle* preposition = nullptr;
  const Pronoun* pronoun = nullptr;
  const Name* name = nullptr;
  const Name* joined_name = nullptr;  // `mary and paul`
  const Noun* noun = nullptr;
  // The members below are set only with a noun.
  const Determiner* determiner = nullptr;
  bool plural = false;
  const Adjective* preceding = nullptr;  // petit chat
  const Adjective* following = nullptr;  // chat noir
  // Whether the only adjective is a superlative.
  bool superlative = false;
  const Material* material = nullptr;

  bool IsFeminine() const;
  Person PersonOf() const;
  bool IsPlural() const;
  Bits ReferentKinds() const;  // PEOPLE for pronouns and names
};

// The parts of a sentence, before it is rendered in a language.
struct Sketch {
  const Construction* construction = nullptr;
  const std::string* english = nullptr;  // texts of patterns
  const std::string* french = nullptr;
  Tense tense = PROGRESSIVE;
  bool negated = false;
  bool question = false;
  const Verb* verb = nullptr;
  const Adjective* adjective = nullptr;
  std::array<std::optional<NounPhrase>, Slot_ARRAYSIZE> phrases;
  std::vector<const Particle*> particles;
};

const Construction& DrawConstruction(const Language& language,
                                     PhrasebookRandom& random);

Sketch DrawSketch(const Construction& construction, const Language& language,
                  PhrasebookRandom& random);

}  // namespace regard::phrasebook

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_SKETCH_H_
