// The precision in which a matrix product reads its operands.
#ifndef AUTODIFF_KERNELS_PRODUCT_PRECISION_H_
#define AUTODIFF_KERNELS_PRODUCT_PRECISION_H_

#include <type_traits>

namespace regard {

// kBfloat16 affects products of float matrices. Products of double matrices
// ignore it. The definition of c = addend + a b follows. It determines every
// bit of a result, independently of processors, threads and shapes.
//
// * Each element of a and b is rounded to bfloat16, to nearest even. A denormal
//   number becomes zero with its sign, and NaN becomes 0x7FC0.
// * The inner dimension is cut into pieces of 32, counted from its first index.
//   If its length is odd, a zero is appended to both operands.
// * An element of c starts as the addend, or as +0 if there is no addend. For
//   each piece,
//
//     e = o = +0
//     e = fma(a[2k], b[2k], e), o = fma(a[2k + 1], b[2k + 1], o), k increasing
//     c = c + (e + o)
//
// * All of this is float32 arithmetic in which denormal operands and results
//   are zeros with their signs.
//
// A product may therefore be cut at multiples of 32 into several products that
// add to one result. This does not change the result. If the inner dimension is
// empty, c is the addend, bit for bit. A result that is NaN may have any
// payload.
//
// The instruction TDPBF16PS of AMX computes one piece.
enum class ProductPrecision {
  kFull,      // operands are not rounded
  kBfloat16,  // operands rounded to bfloat16, sums in float32
};

// Whether products of matrices of T round their operands.
template <typename T>
constexpr bool Rounds(ProductPrecision precision) {
  return std::is_same_v<T, float> && precision == ProductPrecision::kBfloat16;
}

}  // namespace regard

#endif  // AUTODIFF_KERNELS_PRODUCT_PRECISION_H_
