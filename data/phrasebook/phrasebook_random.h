// The phrasebook's own random integers: no standard distribution, so that every
// compiler and library draws the same sentences.
#ifndef DATA_PHRASEBOOK_PHRASEBOOK_RANDOM_H_
#define DATA_PHRASEBOOK_PHRASEBOOK_RANDOM_H_

#include <cstdint>

namespace regard {

// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection.
inline uint64_t MixBits(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

class PhrasebookRandom {
 public:
  explicit PhrasebookRandom(uint64_t seed) : state_(seed) {}

  // Uniform in [0, bound), 0 < bound < 2^31; the bias is below bound / 2^32.
  int Below(int bound) {
    const uint64_t high = Next() >> 32;
    return static_cast<int>((high * static_cast<uint64_t>(bound)) >> 32);
  }

  // True in `percent` of 100 draws.
  bool Chance(int percent) { return Below(100) < percent; }

 private:
  uint64_t Next() { return MixBits(state_ += 0x9e3779b97f4a7c15u); }

  uint64_t state_;
};

}  // namespace regard

#endif  // DATA_PHRASEBOOK_PHRASEBOOK_RANDOM_H_
