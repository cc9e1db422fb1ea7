#include "autodiff/ops/broadcast.h"

#include <algorithm>
#include <array>

#include "absl/types/span.h"
#include "third_party/abseil_backport/check.h"

namespace regard {

Shape BroadcastShape(const char* operation, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, Shape::kMaxRank> extents;
  for (int i = 1; i <= rank; ++i) {
    const int64_t of_a = i <= a.rank() ? a[-i] : 1;
    const int64_t of_b = i <= b.rank() ? b[-i] : 1;
    REGARD_CHECK(of_a == of_b || of_a == 1 || of_b == 1)
        << operation << " of " << a << " and " << b;
    extents[rank - i] = of_a == 1 ? of_b : of_a;
  }
  return Shape(absl::MakeConstSpan(extents.data(), rank));
}

void BroadcastStrides(const char* operation, const Shape& operand,
                      const Shape& out, int64_t* strides) {
  REGARD_CHECK(operand.rank() <= out.rank())
      << operation << " of " << operand << " to " << out;
  int64_t stride = 1;
  for (int i = 1; i <= out.rank(); ++i) {
    const int64_t extent = i <= operand.rank() ? operand[-i] : 1;
    REGARD_CHECK(extent == out[-i] || extent == 1)
        << operation << " of " << operand << " to " << out;
    strides[out.rank() - i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
}

}  // namespace regard
