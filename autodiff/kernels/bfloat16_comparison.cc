#include "autodiff/kernels/bfloat16_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_amx.h"
#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/bfloat16_fma.h"
#include "autodiff/kernels/bfloat16_plain.h"
#include "autodiff/kernels/bfloat16_product.h"
#include "autodiff/kernels/bfloat16_tile_model.h"
#include "autodiff/kernels/matrix.h"

namespace regard {

namespace {

// The initial value of a result. A product must not change the elements between
// rows.
constexpr float kUntouched = -77;

enum Addend : int64_t { kNone, kResult, kMatrix, kRepeatedRow };

enum Kind : int64_t {
  kOrdinary,  // -1/2 .. 1/2
  kTiny,      // sums of products are denormal or slightly larger
  kAnySize,   // exponents -120 .. 120
  kAnyBits,
  kMixed,  // ordinary numbers with a few special ones
  kKinds,
};

bool Equal(float x, float y) {
  return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) ||
         (std::isnan(x) && std::isnan(y));
}

ConstMatrix<float> Stored(const std::vector<float>& data, int64_t rows,
                          int64_t cols, int64_t gap, bool transposed) {
  return {data.data(), rows, cols, (transposed ? rows : cols) + gap,
          transposed};
}

}  // namespace

struct RandomBfloat16Products::Product {
  int64_t m, k, n;
  bool a_transposed, b_transposed, has_pairs;
  int64_t gap;  // elements between rows
  int64_t addend;
  int64_t cut_of_k, cut_of_n;  // multiples of kBfloat16Piece, kPairPanel

  ConstMatrix<float> a(const std::vector<float>& data) const {
    return Stored(data, m, k, gap, a_transposed);
  }
  ConstMatrix<float> b(const std::vector<float>& data) const {
    return Stored(data, k, n, gap, b_transposed);
  }
  int64_t c_stride() const { return n + gap; }
};

std::vector<const Bfloat16Backend*> ComparableBfloat16Backends() {
  std::vector<const Bfloat16Backend*> backends = {&kPlainBfloat16};
  for (const Bfloat16Backend* const backend :
       {kAvx2Bfloat16, kAvx512Bfloat16, Avx512NativeBfloat16(),
        TileModelBfloat16(false), TileModelBfloat16(true), AmxBfloat16()}) {
    if (backend != nullptr) backends.push_back(backend);
  }
  return backends;
}

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t RandomBfloat16Products::Next() {
  state_ += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94D049BB133111EB);
  return bits ^ (bits >> 31);
}

int64_t RandomBfloat16Products::UniformInt(int64_t limit) {
  return static_cast<int64_t>((Next() >> 32) * static_cast<uint64_t>(limit) >>
                              32);
}

float RandomBfloat16Products::Number(int64_t kind) {
  const uint64_t random = Next();
  const auto bits = static_cast<uint32_t>(random);
  const uint32_t sign_and_fraction = bits & 0x807FFFFF;
  const auto with_exponent = [&](uint32_t exponent) {
    return std::bit_cast<float>(sign_and_fraction | exponent << 23);
  };
  const auto choice = static_cast<uint32_t>(random >> 32);
  switch (kind) {
    case kTiny:
      return with_exponent(52 + choice % 14);
    case kAnySize:
      return with_exponent(7 + choice % 241);
    case kAnyBits:
      return std::bit_cast<float>(bits);
    case kMixed:
      switch (choice % 256) {
        case 0:
          return std::bit_cast<float>(bits | 0x7F800000);  // NaN
        case 1:
          return std::bit_cast<float>((bits & 0x80000000) | 0x7F800000);
        case 2:
          return with_exponent(0);  // denormal
        case 3:
          return std::bit_cast<float>(bits & 0x80000000);  // zero
        case 4:
          return with_exponent(254);
        case 5:  // halfway between two numbers in bfloat16
          return std::bit_cast<float>(
              (with_exponent(127) < 0 ? 0xBF808000 : 0x3F808000) |
              (bits & 0x007F0000));
        default:
          break;
      }
      break;
    default:
      break;
  }
  return static_cast<float>(bits >> 8) * 0x1p-24F - 0.5F;
}

void RandomBfloat16Products::Fill(std::vector<float>& numbers, int64_t count,
                                  int64_t kind) {
  numbers.resize(static_cast<size_t>(count));
  for (float& number : numbers) number = Number(kind);
}

void RandomBfloat16Products::Choose(int64_t max_extent, Product& product) {
  product.m = UniformInt(max_extent + 1);
  product.k = UniformInt(max_extent + 1);
  product.n = UniformInt(max_extent + 1);
  product.a_transposed = Coin();
  product.b_transposed = Coin();
  product.has_pairs = Coin();
  product.gap = Coin() ? UniformInt(9) : 0;
  product.addend = UniformInt(4);
  product.cut_of_k =
      UniformInt(product.k / kBfloat16Piece + 1) * kBfloat16Piece;
  product.cut_of_n = UniformInt(product.n / kPairPanel + 1) * kPairPanel;
  const int64_t kind = UniformInt(kKinds);
  const int64_t outer = std::max({product.m, product.k, product.n}) + 9;
  Fill(a_, (product.a_transposed ? product.k : product.m) * outer, kind);
  Fill(b_, (product.b_transposed ? product.n : product.k) * outer, kind);
  // Addends of tiny products must be as small as these products.
  Fill(addend_, product.m * product.c_stride() + product.n, kind);
  for (float& number : addend_) {
    if (kind == kTiny) number *= 0x1p-60F;
  }
}

void RandomBfloat16Products::Compute(const Bfloat16Backend& backend,
                                     const Product& product, bool in_parts,
                                     std::vector<float>& c) {
  const auto& [m, k, n, a_transposed, b_transposed, has_pairs, gap, kind,
               cut_of_k, cut_of_n] = product;
  const int64_t stride = product.c_stride();
  c.assign(static_cast<size_t>(m * stride), kUntouched);
  const float* addend = nullptr;
  int64_t addend_stride = stride;
  if (kind == kResult) {
    for (int64_t i = 0; i < m; ++i) {
      std::copy_n(addend_.data() + i * stride, n, c.data() + i * stride);
    }
    addend = c.data();
  } else if (kind != kNone) {
    addend = addend_.data();
    if (kind == kRepeatedRow) addend_stride = 0;
  }
  const auto part = [&](int64_t first, int64_t depth, const float* added,
                        int64_t added_stride) {
    ConstMatrix<float> a = product.a(a_);
    ConstMatrix<float> b = product.b(b_);
    a.data += first * (a_transposed ? a.stride : 1);
    b.data += first * (b_transposed ? 1 : b.stride);
    a.cols = b.rows = depth;
    if (has_pairs) {
      const int64_t size = PairPanelSize(depth);
      // Fills `pairs_` with NaN, because every word must be written, even past
      // the last column.
      pairs_.assign(static_cast<size_t>((n / kPairPanel + 1) * size),
                    0x7FC07FC0);
      for (int64_t col = 0; col < n; col += kPairPanel) {
        backend.round_panel(b, 0, depth, col,
                            pairs_.data() + col / kPairPanel * size);
      }
      b.pairs = pairs_.data();
    }
    const MutableMatrix<float> result(c.data(), m, n, stride);
    const int64_t cut = in_parts ? cut_of_n : 0;
    RunBfloat16Product(backend, a, b, added, added_stride, result, 0, cut);
    RunBfloat16Product(backend, a, b, added, added_stride, result, cut, n);
  };
  if (in_parts && cut_of_k > 0 && cut_of_k < k) {
    part(0, cut_of_k, addend, addend_stride);
    part(cut_of_k, k - cut_of_k, c.data(), stride);
  } else if (k > 0) {
    part(0, k, addend, addend_stride);
  }
}

std::string RandomBfloat16Products::CompareNext(
    const std::vector<const Bfloat16Backend*>& backends, int64_t max_extent) {
  Product product = {};
  const uint64_t state = state_;
  Choose(max_extent, product);
  Compute(*backends[0], product, /*in_parts=*/false, expected_);
  for (const Bfloat16Backend* const backend : backends) {
    Compute(*backend, product, /*in_parts=*/true, got_);
    for (size_t i = 0; i < got_.size(); ++i) {
      if (Equal(got_[i], expected_[i])) continue;
      std::ostringstream message;
      message << backend->name << " computes " << std::hexfloat << got_[i]
              << " instead of " << expected_[i] << " at index " << i << " of "
              << product.m << " x " << product.k << " x " << product.n
              << " with the seed " << state;
      return message.str();
    }
  }
  return "";
}

}  // namespace regard
