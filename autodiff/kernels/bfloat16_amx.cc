#include "autodiff/kernels/bfloat16_amx.h"

#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/bfloat16_native_rounding.h"

#ifdef __AVX512F__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace regard {

#ifdef __AVX512F__
namespace {

// Configures all eight tiles with 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

// The tile instructions. The intrinsics of GCC 12 do not accept tile numbers
// from templates, and do not tell the compiler that tiles are read from memory.
struct AmxTiles {
  static void Begin() {
    static constexpr TileConfig kConfig;
    asm volatile("ldtilecfg %0" ::"m"(kConfig) : "memory");
  }
  static void End() { asm volatile("tilerelease" ::: "memory"); }

  template <int kTile, typename Word>
  static void Load(const Word* words, int64_t stride) {
    asm volatile("tileloadd (%0,%1,4), %%tmm%c2" ::"r"(words), "r"(stride),
                 "i"(kTile)
                 : "memory");
  }
  template <int kTile>
  static void Store(float* numbers, int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,4)" ::"r"(numbers), "r"(stride),
                 "i"(kTile)
                 : "memory");
  }
  template <int kTo, int kOfA, int kOfB>
  static void MultiplyAdd() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kTo), "i"(kOfA),
                 "i"(kOfB));
  }
};

// Returns the register XCR0, whose bits are the kinds of state that the
// operating system saves.
uint64_t SavedState() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Whether this process can use AMX with bfloat16. The operating system must
// save tiles. Linux only does so for processes that request it.
bool HasAmx() {
  constexpr uint32_t kOsXsave = 1U << 27;
  constexpr uint32_t kTilesInBfloat16 = 1U << 22 | 1U << 24;
  constexpr uint64_t kTileState = uint64_t{3} << 17;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) return false;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d & kTilesInBfloat16) != kTilesInBfloat16) return false;
  if ((SavedState() & kTileState) != kTileState) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const Bfloat16Backend* AmxBfloat16() {
  static const bool kHasAmx = HasNativeRounding() && HasAmx();
  static const Bfloat16Backend kBackend = AmxBackend<AmxTiles>(
      "AMX", kNativeRounding.rows_to_pairs, kNativeRounding.panel);
  return kHasAmx ? &kBackend : nullptr;
}
#else
const Bfloat16Backend* AmxBfloat16() { return nullptr; }
#endif

}  // namespace regard
