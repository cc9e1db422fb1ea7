#include "autodiff/ops/dropout.h"

#include <algorithm>
#include <array>

#include "autodiff/random.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

namespace {

// Writes `keep` for elements first .. first + cols - 1 of a row. Word j % 4 of
// the counter {counter, j / 4} decides whether element j is kept.
void FillRow(std::array<uint32_t, 3> counter, uint64_t key, uint32_t threshold,
             int64_t first, int64_t cols, uint8_t* keep) {
  constexpr int kCounters = 16;
  uint32_t words[4][kCounters];
  const int64_t end = first + cols;
  for (int64_t begin = first / 4 * 4; begin < end; begin += 4 * kCounters) {
    for (int i = 0; i < kCounters; ++i) {
      for (int w = 0; w < 3; ++w) words[w][i] = counter[w];
      words[3][i] = static_cast<uint32_t>(begin / 4 + i);
    }
    PhiloxLanes({static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
                words);
    const int64_t count = std::min<int64_t>(4 * kCounters, end - begin);
    for (int64_t j = std::max<int64_t>(first - begin, 0); j < count; ++j) {
      keep[begin + j - first] = words[j % 4][j / 4] >= threshold;
    }
  }
}

uint32_t Threshold(double rate) { return static_cast<uint32_t>(rate * 0x1p32); }

uint64_t HashOf(const RandomState& random, const ScopeName* scope,
                const char* site) {
  return Hash(random.seed,
              Hash(site, scope == nullptr ? kHashSeed : scope->hash));
}

}  // namespace

DropoutMask::DropoutMask(const RandomState& random, const ScopeName* scope,
                         double rate, const char* site)
    : random_(random), hash_(HashOf(random, scope, site)), rate_(rate) {}

uint64_t DropoutMask::ClaimKey(int64_t first_row, int64_t first_column) const {
  uint64_t key = hash_;  // includes the seed and the site
  for (const int64_t number :
       {random_.step, static_cast<int64_t>(random_.examples.size()),
        random_.examples.empty() ? 0 : random_.examples[0], first_row,
        first_column}) {
    key = Hash(static_cast<uint64_t>(number), key);
  }
  return key;
}

void DropoutMask::FillRow(int64_t example, int64_t head, int64_t row,
                          int64_t first, int64_t count, uint8_t* keep) const {
  regard::FillRow({static_cast<uint32_t>(random_.step),
                   static_cast<uint32_t>(random_.ExampleNumber(example)),
                   static_cast<uint32_t>(row)},
                  Hash(static_cast<uint64_t>(head), hash_), Threshold(rate_),
                  first, count, keep);
}

template <typename T>
Var<T> Dropout(Var<T> x, std::type_identity_t<T> rate, const char* site,
               int64_t first_row, int64_t first_column) {
  REGARD_CHECK(rate >= 0 && rate < 1) << "dropout rate " << rate;
  Tape<T>& tape = x.tape();
  if (!tape.training() || rate == 0 || x.size() == 0) return x;
  const RandomState& random = tape.random();
  const DropoutMask mask(random, tape.scope(), static_cast<double>(rate), site);
  tape.ClaimMask(site, mask.ClaimKey(first_row, first_column));
  const uint64_t hash = mask.hash_;
  const int rank = x.shape().rank();
  const int64_t examples = rank == 0 ? 1 : x.dim(0);
  const int64_t cols = rank < 2 ? 1 : x.cols();
  const int64_t rows = rank < 3 ? 1 : x.dim(-2);
  // The indices along the axes between the first and the last two, such as the
  // head of attention weights, belong to the key. The counter has space for
  // only one row index, and a joint index would depend on the extents.
  const int64_t outer = rank < 5 ? 1 : x.dim(1);
  const int64_t inner = rank < 4 ? 1 : x.dim(-3);
  const uint32_t threshold = Threshold(static_cast<double>(rate));
  auto* const keep = tape.arena().template New<uint8_t>(x.size());
  uint8_t* row_keep = keep;
  for (int64_t i = 0; i < examples; ++i) {
    const int64_t example = random.ExampleNumber(i);
    for (int64_t index = 0; index < outer * inner; ++index) {
      uint64_t key = hash;
      if (rank > 4) key = Hash(static_cast<uint64_t>(index / inner), key);
      if (rank > 3) key = Hash(static_cast<uint64_t>(index % inner), key);
      for (int64_t row = 0; row < rows; ++row, row_keep += cols) {
        FillRow(
            {static_cast<uint32_t>(random.step), static_cast<uint32_t>(example),
             static_cast<uint32_t>(first_row + row)},
            key, threshold, first_column, cols, row_keep);
      }
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

REGARD_INSTANTIATE_FUNCTION(Dropout);

}  // namespace regard
