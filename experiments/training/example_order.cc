#include "experiments/training/example_order.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "autodiff/random.h"

namespace regard {

void ExampleOrder(uint64_t seed, int64_t epoch, int64_t size, int64_t count,
                  std::vector<int64_t>* order) {
  const RandomStream stream(seed, absl::StrCat("order/", epoch));
  order->resize(size);
  std::iota(order->begin(), order->end(), 0);
  for (int64_t i = 0; i < count; ++i) {
    const auto j = static_cast<int64_t>(stream.BelowAt(
        static_cast<uint64_t>(i), static_cast<uint64_t>(size - i)));
    std::swap((*order)[i], (*order)[i + j]);
  }
  order->resize(count);
}

}  // namespace regard
