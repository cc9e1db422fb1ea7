#include "autodiff/kernels/bfloat16_tile_model.h"

#include "autodiff/kernels/bfloat16_amx.h"
#include "autodiff/kernels/bfloat16_backend.h"

#ifdef __AVX512F__
#include <cmath>
#include <cstdint>
#include <cstring>

#include "autodiff/kernels/bfloat16.h"
#include "autodiff/kernels/bfloat16_native_rounding.h"
#include "autodiff/kernels/bfloat16_rounding.h"
#include "third_party/abseil_backport/check.h"
#endif

namespace regard {

#ifdef __AVX512F__
namespace {

struct Tile {
  uint32_t words[16][16];
};
thread_local Tile tiles[8];
// Whether this thread has configured its tiles.
thread_local bool configured = false;

struct ModelTiles {
  static void Begin() {
    REGARD_CHECK(!configured) << "tiles are configured twice";
    configured = true;
  }
  static void End() {
    REGARD_CHECK(configured) << "tiles are not configured";
    configured = false;
  }

  template <int kTile, typename Word>
  static void Load(const Word* words, int64_t stride) {
    REGARD_CHECK(configured) << "tiles are not configured";
    for (int64_t i = 0; i < 16; ++i) {
      std::memcpy(tiles[kTile].words[i], words + i * stride, 64);
    }
  }
  template <int kTile>
  static void Store(float* numbers, int64_t stride) {
    for (int64_t i = 0; i < 16; ++i) {
      std::memcpy(numbers + i * stride, tiles[kTile].words[i], 64);
    }
  }

  // The thread must treat denormal numbers as zeros, as the instruction does.
  template <int kTo, int kOfA, int kOfB>
  static void MultiplyAdd() {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        float even = 0;
        float odd = 0;
        for (int k = 0; k < 16; ++k) {
          const uint32_t a = tiles[kOfA].words[i][k];
          const uint32_t b = tiles[kOfB].words[k][j];
          even = std::fma(EvenOfPair(a), EvenOfPair(b), even);
          odd = std::fma(OddOfPair(a), OddOfPair(b), odd);
        }
        float c = 0;
        std::memcpy(&c, &tiles[kTo].words[i][j], sizeof(c));
        c += even + odd;
        std::memcpy(&tiles[kTo].words[i][j], &c, sizeof(c));
      }
    }
  }
};

}  // namespace

const Bfloat16Backend* TileModelBfloat16(bool native_rounding) {
  static const Bfloat16Backend kBackend =
      AmxBackend<ModelTiles>("model of AMX", RoundRowsToPairs<IntegerRounding>,
                             RoundPanel<IntegerRounding>);
  static const Bfloat16Backend kNative = AmxBackend<ModelTiles>(
      "model of AMX", kNativeRounding.rows_to_pairs, kNativeRounding.panel);
  if (!native_rounding) return &kBackend;
  return HasNativeRounding() ? &kNative : nullptr;
}
#else
const Bfloat16Backend* TileModelBfloat16(bool /*native_rounding*/) {
  return nullptr;
}
#endif

}  // namespace regard
