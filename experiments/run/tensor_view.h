// A named tensor that somebody else owns, as it goes to the disk.
#ifndef EXPERIMENTS_RUN_TENSOR_VIEW_H_
#define EXPERIMENTS_RUN_TENSOR_VIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace regard {

struct TensorView {
  std::string name;
  // Empty for a scalar, which holds one value.
  std::vector<int64_t> shape;
  // Row-major, as many as the shape says.
  absl::Span<const float> values;
};

}  // namespace regard

#endif  // EXPERIMENTS_RUN_TENSOR_VIEW_H_
