#include "autodiff/kernels/bfloat16_backends.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "autodiff/kernels/bfloat16_amx.h"
#include "autodiff/kernels/bfloat16_fma.h"
#include "autodiff/kernels/bfloat16_plain.h"
#include "autodiff/kernels/bfloat16_product.h"

namespace regard {

namespace {

// Whether two implementations compute bit-identical results in one test. The
// product has ordinary numbers and denormal results. Its extents are not
// multiples of the sizes of tiles and pieces.
bool Agree(const Bfloat16Backend& x, const Bfloat16Backend& y) {
  constexpr int64_t kRows = 50;
  constexpr int64_t kDepth = 91;
  constexpr int64_t kCols = 53;
  uint64_t state = 1;
  const auto numbers = [&](int64_t count) {
    std::vector<float> made(static_cast<size_t>(count));
    for (float& number : made) {
      // The generator is Knuth's MMIX. One number in four has an exponent of
      // about -63, so that some products are denormal.
      state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
      const float unit = static_cast<float>(state >> 40) * 0x1p-23F - 1;
      number = std::ldexp(unit, (state >> 38) % 4 == 0 ? -63 : 0);
    }
    return made;
  };
  const std::vector<float> a = numbers(kRows * kDepth);
  const std::vector<float> b = numbers(kDepth * kCols);
  const std::vector<float> addend = numbers(kCols);
  const auto multiply = [&](const Bfloat16Backend& backend) {
    std::vector<float> c(kRows * kCols);
    RunBfloat16Product(backend, {a.data(), kRows, kDepth},
                       {b.data(), kDepth, kCols}, addend.data(),
                       /*addend_stride=*/0, {c.data(), kRows, kCols},
                       /*begin=*/0, kCols);
    return c;
  };
  const std::vector<float> of_x = multiply(x);
  const std::vector<float> of_y = multiply(y);
  return std::memcmp(of_x.data(), of_y.data(), of_x.size() * sizeof(float)) ==
         0;
}

std::vector<const Bfloat16Backend*> Find() {
  std::vector<const Bfloat16Backend*> found = {&kPlainBfloat16};
  if (kAvx2Bfloat16 != nullptr) found.push_back(kAvx2Bfloat16);
  if (kAvx512Bfloat16 != nullptr) found.push_back(kAvx512Bfloat16);
  const Bfloat16Backend* const native = Avx512NativeBfloat16();
  if (native != nullptr) found.push_back(native);
  const char* const setting = std::getenv("REGARD_AMX");
  if (setting != nullptr && std::strcmp(setting, "0") == 0) return found;
  const Bfloat16Backend* const amx = AmxBfloat16();
  if (amx != nullptr && Agree(*amx, *found.back())) found.push_back(amx);
  return found;
}

}  // namespace

const std::vector<const Bfloat16Backend*>& Bfloat16Backends() {
  static const auto* const kBackends =
      new std::vector<const Bfloat16Backend*>(Find());
  return *kBackends;
}

const Bfloat16Backend& Bfloat16BackendFor(int64_t rows) {
  const std::vector<const Bfloat16Backend*>& backends = Bfloat16Backends();
  const Bfloat16Backend* const fastest = backends.back();
  // With fewer rows, AMX has no whole tile.
  constexpr int64_t kAmxRows = 16;
  const bool too_few = rows < kAmxRows && fastest == AmxBfloat16();
  return too_few ? *backends[backends.size() - 2] : *fastest;
}

}  // namespace regard
