// Counter-based random numbers: a number is a function of what it is for, never
// of how many were drawn before it. So it survives sharding, resuming and
// recomputation.
//
// Philox4x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011.
#ifndef AUTODIFF_RANDOM_H_
#define AUTODIFF_RANDOM_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace regard {

// Four independent 32-bit words for (key, counter).
std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

// FNV-1a, the same on every machine; `seed` continues an earlier hash.
constexpr uint64_t kHashSeed = 0xcbf29ce484222325;
uint64_t Hash(absl::string_view text, uint64_t seed = kHashSeed);
uint64_t Hash(uint64_t number, uint64_t seed);

// An endless sequence named by a seed and a purpose ("init/encoder.weight").
class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view purpose);

  // 64 uniform bits.
  uint64_t BitsAt(uint64_t index) const;

  // Uniform in [0, 1), a multiple of 2^-53.
  double UniformAt(uint64_t index) const;

  // Standard normal.
  double NormalAt(uint64_t index) const;

  // Uniform in 0 .. bound - 1 (bias below 2^-32 for bounds below 2^32).
  uint64_t BelowAt(uint64_t index, uint64_t bound) const;

 private:
  uint64_t Word(uint64_t index, uint32_t attempt, int half) const;

  std::array<uint32_t, 2> key_;
};

}  // namespace regard

#endif  // AUTODIFF_RANDOM_H_
