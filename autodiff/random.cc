#include "autodiff/random.h"

#include <cmath>

#include "autodiff/kernels/transcendental.h"

namespace regard {

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key) {
  uint32_t words[4][1] = {
      {counter[0]}, {counter[1]}, {counter[2]}, {counter[3]}};
  PhiloxLanes(key, words);
  return {words[0][0], words[1][0], words[2][0], words[3][0]};
}

uint64_t Hash(absl::string_view text, uint64_t seed) {
  for (const char c : text) {
    seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return seed;
}

uint64_t Hash(uint64_t number, uint64_t seed) {
  for (int byte = 0; byte < 8; ++byte) {
    seed = (seed ^ (number >> (8 * byte) & 0xFF)) * 0x100000001b3;
  }
  return seed;
}

RandomStream::RandomStream(uint64_t seed, absl::string_view purpose) {
  const uint64_t key = Hash(purpose, Hash(seed, kHashSeed));
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
}

uint64_t RandomStream::RandomWord(uint64_t index, uint32_t attempt,
                                  int half) const {
  const std::array<uint32_t, 4> words =
      Philox({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
              attempt, 0},
             key_);
  return uint64_t{words[2 * half]} << 32 | words[2 * half + 1];
}

uint64_t RandomStream::BitsAt(uint64_t index) const {
  return RandomWord(index, 0, 0);
}

double RandomStream::UniformAt(uint64_t index) const {
  return static_cast<double>(BitsAt(index) >> 11) * 0x1p-53;
}

double RandomStream::NormalAt(uint64_t index) const {
  // Marsaglia's polar method draws points in a square until one lies in the
  // unit disc and is not its centre.
  for (uint32_t attempt = 0;; ++attempt) {
    const double u =
        static_cast<double>(RandomWord(index, attempt, 0) >> 11) * 0x1p-52 - 1;
    const double v =
        static_cast<double>(RandomWord(index, attempt, 1) >> 11) * 0x1p-52 - 1;
    const double s = u * u + v * v;
    if (s >= 1 || s == 0) continue;
    double log_s;
    Log(&s, &log_s, 1);
    return u * std::sqrt(-2 * log_s / s);
  }
}

uint64_t RandomStream::UniformIntAt(uint64_t index, uint64_t bound) const {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>((Wide{BitsAt(index)} * bound) >> 64);
}

}  // namespace regard
