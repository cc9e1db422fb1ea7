// Times matrix products of one library. Each line of standard input is
//
//   ROWS INNER COLUMNS LEFT_TRANSPOSED RIGHT_TRANSPOSED IN_BFLOAT16 PACKED
//   SECONDS
//
// Prints the GFLOP/s by processor time, and the sum of the absolute values of
// the result. Prints "-" if the library does not support the product.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "tools/peers/products/product.h"

namespace {

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Matrix = std::unique_ptr<float[], Free>;

Matrix NewMatrix(size_t size) {
  const size_t bytes = (size * sizeof(float) + 63) / 64 * 64;
  return Matrix(static_cast<float*>(std::aligned_alloc(64, bytes)));
}

// Returns numbers in [-1/2, 1/2) by a linear congruential generator (Knuth's
// MMIX).
Matrix RandomMatrix(uint64_t seed, size_t size) {
  Matrix matrix = NewMatrix(size);
  for (size_t i = 0; i < size; ++i) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    matrix[i] = static_cast<float>(seed >> 40) * 0x1p-24F - 0.5F;
  }
  return matrix;
}

double BusySeconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main() {
  ProductSpec shape = {};
  int packed = 0;
  double seconds = 0;
  while (std::cin >> shape.rows >> shape.inner >> shape.columns >>
         shape.left_transposed >> shape.right_transposed >> shape.in_bfloat16 >>
         packed >> seconds) {
    const auto rows = static_cast<size_t>(shape.rows);
    const auto inner = static_cast<size_t>(shape.inner);
    const auto columns = static_cast<size_t>(shape.columns);
    const Matrix a = RandomMatrix(1, rows * inner);
    const Matrix b = RandomMatrix(2, inner * columns);
    const Matrix c = NewMatrix(rows * columns);
    if (PrepareProduct(&shape, b.get(), packed) == 0) {
      std::cout << "-" << std::endl;
      continue;
    }
    ComputeProduct(a.get(), b.get(), c.get());
    int64_t count = 0;
    const double begin = BusySeconds();
    double spent = 0;
    // Reads the clock only after 1, 2, 4, .. products, because reading it is a
    // system call.
    for (int64_t next = 1; spent < seconds; next *= 2) {
      for (; count < next; ++count) ComputeProduct(a.get(), b.get(), c.get());
      spent = BusySeconds() - begin;
    }
    double sum = 0;
    for (size_t i = 0; i < rows * columns; ++i) {
      sum += std::abs(static_cast<double>(c[i]));
    }
    std::cout << 2e-9 * static_cast<double>(rows * inner * columns) *
                     static_cast<double>(count) / spent
              << " " << sum << std::endl;
  }
  return 0;
}
