#include "experiments/ablation/holm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace regard {

std::vector<double> HolmAdjusted(absl::Span<const double> p_values) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p_values.size(); ++i) {
    if (!std::isnan(p_values[i])) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return p_values[a] < p_values[b];
  });
  std::vector<double> adjusted(p_values.begin(), p_values.end());
  double largest = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    const double factor = static_cast<double>(order.size() - k);
    largest = std::max(largest, factor * p_values[order[k]]);
    adjusted[order[k]] = std::min(1.0, largest);
  }
  return adjusted;
}

}  // namespace regard
