// One number that says whether two models are bitwise equal.
#ifndef EXPERIMENTS_RUN_WEIGHTS_DIGEST_H_
#define EXPERIMENTS_RUN_WEIGHTS_DIGEST_H_

#include <string>

#include "absl/types/span.h"
#include "experiments/run/tensor_view.h"

namespace regard {

// SHA-256, as hexadecimal digits, over the tensors sorted by the bytes of their
// names. Each contributes, with all integers as 64-bit little-endian: the
// length of its name, the name, its rank, its sizes, and its values as 32-bit
// little-endian floats. The lengths keep two different lists of tensors from
// giving one sequence of bytes.
std::string WeightsDigest(absl::Span<const TensorView> tensors);

}  // namespace regard

#endif  // EXPERIMENTS_RUN_WEIGHTS_DIGEST_H_
