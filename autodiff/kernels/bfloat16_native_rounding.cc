#include "autodiff/kernels/bfloat16_native_rounding.h"

#include "autodiff/kernels/bfloat16_backend.h"

// The compiler flags of this file enable AVX512_BF16, which implies AVX512F.
// Only a build for processors with AVX-512 also has AVX512DQ.
#ifdef __AVX512DQ__
#include <cpuid.h>
#include <immintrin.h>

#include <bit>
#include <cstdint>

#include "autodiff/kernels/bfloat16_rounding.h"
#endif

namespace regard {

#ifdef __AVX512DQ__
namespace {

// Returns x with every NaN replaced by 0x7FC00000, because the instructions
// keep a part of a NaN's payload.
__m512 WithOneNan(__m512 x) {
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q),
                            _mm512_castsi512_ps(_mm512_set1_epi32(0x7FC00000)));
}

// Returns the rounded numbers of `low`, followed by the numbers of `high`, 16
// bits each. The instruction treats denormal numbers as zeros in all
// floating-point modes.
__m512i Rounded(__m512 low, __m512 high) {
  return std::bit_cast<__m512i>(
      _mm512_cvtne2ps_pbh(WithOneNan(high), WithOneNan(low)));
}

struct NativeRounding {
  static PacketWords Along(__m512 low, __m512 high) {
    return std::bit_cast<PacketWords>(Rounded(low, high));
  }

  static PacketWords Across(__m512 even, __m512 odd) {
    // Interleaves both halves: elements 0, 16, 1, 17, and so on.
    const __m512i order = _mm512_add_epi32(
        _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
        _mm512_set_epi32(31 << 16, 30 << 16, 29 << 16, 28 << 16, 27 << 16,
                         26 << 16, 25 << 16, 24 << 16, 23 << 16, 22 << 16,
                         21 << 16, 20 << 16, 19 << 16, 18 << 16, 17 << 16,
                         16 << 16));
    return std::bit_cast<PacketWords>(
        _mm512_permutexvar_epi16(order, Rounded(even, odd)));
  }

  static PacketWords Floats(__m512 x) {
    return std::bit_cast<PacketWords>(_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(
            std::bit_cast<__m256i>(_mm512_cvtneps_pbh(WithOneNan(x)))),
        16));
  }
};

bool Find() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1U << 5) != 0;
}

}  // namespace

bool HasNativeRounding() {
  static const bool kHas = Find();
  return kHas;
}

const NativeRoundingFunctions kNativeRounding = {
    .rows_to_floats = RoundRowsToFloats<NativeRounding>,
    .rows_to_pairs = RoundRowsToPairs<NativeRounding>,
    .panel = RoundPanel<NativeRounding>};
#else
bool HasNativeRounding() { return false; }
const NativeRoundingFunctions kNativeRounding = {};
#endif

}  // namespace regard
