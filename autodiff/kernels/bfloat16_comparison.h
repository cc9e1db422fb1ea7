// Compares implementations of products with ProductPrecision::kBfloat16 on
// random products. For tests.
#ifndef AUTODIFF_KERNELS_BFLOAT16_COMPARISON_H_
#define AUTODIFF_KERNELS_BFLOAT16_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Returns the implementations that run on this machine, plain C++ first. If
// this build has AVX-512, also returns the tile model (bfloat16_tile_model.h).
// Some implementations occur twice, with integer and with native rounding. AMX
// is included even if Bfloat16Backends() excludes it.
std::vector<const Bfloat16Backend*> ComparableBfloat16Backends();

// A sequence of random products. They vary in
// * their extents, which may be 0;
// * the storage of the operands: as they are, transposed, or in pairs (only the
//   right operand);
// * the kind of addend;
// * the numbers, which are ordinary, tiny, of any size, or random bits. Some
//   are NaN, infinite, denormal or zero.
class RandomBfloat16Products {
 public:
  // The same seed gives the same products.
  explicit RandomBfloat16Products(uint64_t seed) : state_(seed) {}

  // Computes one product with each of `backends`, as a whole and cut into
  // parts. If a result differs from the first implementation's result, returns
  // a description. Otherwise, returns an empty string.
  std::string CompareNext(const std::vector<const Bfloat16Backend*>& backends,
                          int64_t max_extent);

 private:
  struct Product;

  uint64_t Next();
  int64_t UniformInt(int64_t limit);
  bool Coin() { return UniformInt(2) == 1; }
  float Number(int64_t kind);
  void Fill(std::vector<float>& numbers, int64_t count, int64_t kind);
  void Choose(int64_t max_extent, Product& product);
  void Compute(const Bfloat16Backend& backend, const Product& product,
               bool in_parts, std::vector<float>& c);

  uint64_t state_;
  std::vector<float> a_, b_, addend_, expected_, got_;
  std::vector<uint32_t> pairs_;
};

}  // namespace regard

#endif  // AUTODIFF_KERNELS_BFLOAT16_COMPARISON_H_
