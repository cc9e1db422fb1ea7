#include "autodiff/ops/dropout.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

constexpr int64_t kCounters = 16;

// Philox() of kCounters counters that differ in their last word only, from
// `first` on: the same words, one round for all lanes at a time so that the
// compiler makes them a vector. words[w][lane].
void PhiloxLanes(std::array<uint32_t, 3> counter, uint32_t first,
                 std::array<uint32_t, 2> key, uint32_t (*words)[kCounters]) {
  for (int64_t i = 0; i < kCounters; ++i) {
    for (int w = 0; w < 3; ++w) words[w][i] = counter[w];
    words[3][i] = first + static_cast<uint32_t>(i);
  }
  for (int round = 0; round < 10; ++round) {
    for (int64_t i = 0; i < kCounters; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53} * words[0][i];
      const uint64_t p1 = uint64_t{0xCD9E8D57} * words[2][i];
      words[0][i] = static_cast<uint32_t>(p1 >> 32) ^ words[1][i] ^ key[0];
      words[2][i] = static_cast<uint32_t>(p0 >> 32) ^ words[3][i] ^ key[1];
      words[1][i] = static_cast<uint32_t>(p1);
      words[3][i] = static_cast<uint32_t>(p0);
    }
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
}

// keep[j] for one row of `cols` elements.
void FillRow(std::array<uint32_t, 3> counter, std::array<uint32_t, 2> key,
             uint32_t threshold, int64_t cols, uint8_t* keep) {
  uint32_t words[4][kCounters];
  for (int64_t begin = 0; begin < cols; begin += 4 * kCounters) {
    PhiloxLanes(counter, static_cast<uint32_t>(begin / 4), key, words);
    const int64_t count = std::min(4 * kCounters, cols - begin);
    for (int64_t j = 0; j < count; ++j) {
      keep[begin + j] = words[j % 4][j / 4] >= threshold;
    }
  }
}

}  // namespace

template <typename T>
Var<T> Dropout(Var<T> x, std::type_identity_t<T> rate, const char* site) {
  REGARD_CHECK(rate >= 0 && rate < 1) << "dropout rate " << rate;
  Tape<T>& tape = x.tape();
  if (!tape.training() || rate == 0 || x.size() == 0) return x;
  const RandomState& random = tape.random();
  const uint64_t scope =
      tape.scope() == nullptr ? kHashSeed : tape.scope()->hash;
  const uint64_t hash = Hash(random.seed, Hash(site, scope));
  const std::array<uint32_t, 2> key = {static_cast<uint32_t>(hash),
                                       static_cast<uint32_t>(hash >> 32)};
  const int rank = x.shape().rank();
  const int64_t examples = rank == 0 ? 1 : x.dim(0);
  const int64_t cols = rank < 2 ? 1 : x.cols();
  const int64_t rows = x.size() / (examples * cols);
  REGARD_CHECK(random.examples.empty() ||
               static_cast<int64_t>(random.examples.size()) == examples)
      << random.examples.size() << " example numbers for Dropout of "
      << x.shape();
  const auto threshold =
      static_cast<uint32_t>(static_cast<double>(rate) * 0x1p32);
  auto* keep = tape.arena().template New<uint8_t>(x.size());
  for (int64_t i = 0; i < examples; ++i) {
    const int64_t example = random.examples.empty() ? i : random.examples[i];
    for (int64_t row = 0; row < rows; ++row) {
      FillRow({static_cast<uint32_t>(random.step),
               static_cast<uint32_t>(example), static_cast<uint32_t>(row)},
              key, threshold, cols, keep + (i * rows + row) * cols);
    }
  }
  const T scale = T(1) / (T(1) - rate);
  Var<T> y = tape.New(x.shape(), x.needs_grad());
  const T* x_data = x.data();
  T* __restrict y_data = y.data();
  const int64_t size = x.size();
  for (int64_t i = 0; i < size; ++i) {
    y_data[i] = keep[i] != 0 ? x_data[i] * scale : T(0);
  }
  tape.Record("Dropout", y, [=] {
    const T* g = y.grad_data();
    if (auto d = x.grad_ref()) {
      d.AddEach([=](int64_t i) { return keep[i] != 0 ? g[i] * scale : T(0); });
    }
  });
  return y;
}

template Var<float> Dropout(Var<float>, float, const char*);
template Var<double> Dropout(Var<double>, double, const char*);

}  // namespace regard
