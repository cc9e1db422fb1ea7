// Counter-based random numbers. A number is a function of its key and its
// counter, and does not depend on how many numbers were drawn before. The
// number is therefore the same after sharding, resuming and recomputation.
//
// The generator is Philox4x32-10: Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011.
#ifndef AUTODIFF_RANDOM_H_
#define AUTODIFF_RANDOM_H_

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace regard {

// Philox4x32-10 of kLanes counters at once. Replaces counter[0 .. 3][lane] with
// four independent 32-bit words. The lanes are independent of each other, so
// the compiler vectorizes the loops over them.
template <int kLanes>
void PhiloxLanes(std::array<uint32_t, 2> key, uint32_t (&counter)[4][kLanes]) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * counter[0][i];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2][i];
      counter[0][i] = static_cast<uint32_t>(p1 >> 32) ^ counter[1][i] ^ key[0];
      counter[2][i] = static_cast<uint32_t>(p0 >> 32) ^ counter[3][i] ^ key[1];
      counter[1][i] = static_cast<uint32_t>(p1);
      counter[3][i] = static_cast<uint32_t>(p0);
    }
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
}

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

// The FNV-1a hash. It is the same on every machine. To continue an earlier
// hash, pass it as `seed`.
constexpr uint64_t kHashSeed = 0xcbf29ce484222325;
uint64_t Hash(absl::string_view text, uint64_t seed = kHashSeed);
uint64_t Hash(uint64_t number, uint64_t seed);

// An endless sequence of random numbers, identified by a seed and a purpose
// such as "init/encoder.weight".
class RandomStream {
 public:
  RandomStream(uint64_t seed, absl::string_view purpose);

  // Returns 64 uniformly distributed bits.
  uint64_t BitsAt(uint64_t index) const;

  // Returns a multiple of 2^-53 that is uniform in [0, 1).
  double UniformAt(uint64_t index) const;

  // Returns a number from the standard normal distribution.
  double NormalAt(uint64_t index) const;

  // Returns an integer that is uniform in 0 .. bound - 1. The bias is below
  // 2^-32 for bounds below 2^32.
  uint64_t UniformIntAt(uint64_t index, uint64_t bound) const;

 private:
  uint64_t RandomWord(uint64_t index, uint32_t attempt, int half) const;

  std::array<uint32_t, 2> key_;
};

}  // namespace regard

#endif  // AUTODIFF_RANDOM_H_
