// Compares implementations of products with ProductPrecision::kBfloat16 on
// random products. For tests.
#ifndef AUTODIFF_KERNELS_BFLOAT16_COMPARISON_H_
#define AUTODIFF_KERNELS_BFLOAT16_COMPARISON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "autodiff/kernels/bfloat16_backend.h"

namespace regard {

// Returns the implementations that run on this machine, and the model of tiles
// if this build has AVX-512. The first one is plain C++. Some are there twice,
// with different rounding. AMX is included even
// if products do not use it because of REGARD_AMX or of its results.
std::vector<const Bfloat16Backend*> ComparableBfloat16Backends();

// Random products of every kind: extents from 0 to `max_extent`, operands as
// stored or transposed, a right operand as stored or in pairs, and an addend of
// each kind. Numbers are ordinary, tiny, of any size or any bits, with NaN,
// infinities, denormal numbers and zeros.
class RandomBfloat16Products {
 public:
  // The same seed gives the same products.
  explicit RandomBfloat16Products(uint64_t seed) : state_(seed) {}

  // Computes one product by each of `backends`, some of them in several parts.
  // Returns a description of the first result that differs from the first
  // implementation's, or an empty string.
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
