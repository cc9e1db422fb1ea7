// Compares all implementations of products in bfloat16 on random products:
//
//   compare_bfloat16 COUNT [SEED]
//
// Most products are small, but one in 200 has extents of up to 300. Fails at
// the first difference. Otherwise, prints the names of the implementations.
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "autodiff/kernels/bfloat16_backend.h"
#include "autodiff/kernels/bfloat16_comparison.h"

namespace {

int64_t MaxExtent(int64_t index) {
  if (index % 200 == 0) return 300;
  return index % 8 == 0 ? 40 : 12;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t count = 0;
  uint64_t seed = 1;
  std::string text;
  for (int i = 1; i < argc; ++i) text += std::string(argv[i]) + " ";
  std::istringstream arguments(text);
  if (!(arguments >> count)) {
    std::cerr << "usage: compare_bfloat16 COUNT [SEED]\n";
    return 2;
  }
  arguments >> seed;
  const std::vector<const regard::Bfloat16Backend*> backends =
      regard::ComparableBfloat16Backends();
  regard::RandomBfloat16Products products(seed);
  for (int64_t i = 0; i < count; ++i) {
    const std::string difference = products.CompareNext(backends, MaxExtent(i));
    if (!difference.empty()) {
      std::cerr << difference << "\n";
      return 1;
    }
  }
  std::cout << count << " random products are equal in";
  for (const regard::Bfloat16Backend* const backend : backends) {
    std::cout << " [" << backend->name << "]";
  }
  std::cout << "\n";
  return 0;
}
