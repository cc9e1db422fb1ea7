#include "autodiff/kernels/bfloat16_fma.h"

#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/bfloat16_native_rounding.h"

#ifdef __FMA__
#include "autodiff/kernels/bfloat16_rounding.h"
#include "autodiff/kernels/bfloat16_tile.h"
#endif

namespace regard {

#ifdef __FMA__
namespace {

// kRows is chosen so that sums and factors fill the 16 registers of AVX2, or
// the 32 registers of AVX-512.
template <typename V, int kRows>
constexpr Bfloat16Backend kBackend = {
    .name = V::kSize == 16 ? "AVX-512" : "AVX2",
    .rows = 126,  // a multiple of 3 and 7
    .row_words = kFloatRowWords,
    .round_rows = RoundRowsToFloats<IntegerRounding>,
    .round_panel = RoundPanel<IntegerRounding>,
    .multiply = MultiplyByTiles<V, FloatRowLayout<V>, kRows>,
    .begin = nullptr,
    .end = nullptr};

}  // namespace

const Bfloat16Backend* const kAvx2Bfloat16 = &kBackend<Avx2, 3>;
#else
const Bfloat16Backend* const kAvx2Bfloat16 = nullptr;
#endif

#ifdef __AVX512F__
const Bfloat16Backend* const kAvx512Bfloat16 = &kBackend<Avx512, 7>;

const Bfloat16Backend* Avx512NativeBfloat16() {
  static const Bfloat16Backend kNative = [] {
    Bfloat16Backend native = kBackend<Avx512, 7>;
    native.round_rows = kNativeRounding.rows_to_floats;
    native.round_panel = kNativeRounding.panel;
    return native;
  }();
  return HasNativeRounding() ? &kNative : nullptr;
}
#else
const Bfloat16Backend* const kAvx512Bfloat16 = nullptr;

const Bfloat16Backend* Avx512NativeBfloat16() { return nullptr; }
#endif

}  // namespace regard
