// Rows of a table, chosen by number: an embedding.
#ifndef AUTODIFF_OPS_GATHER_H_
#define AUTODIFF_OPS_GATHER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

// Row ids[i] of table [rows, cols] -> [leading.., cols], where `leading` has as
// many elements as `ids`. `ids` need not outlive the call. A sparse gradient of
// a leaf is written in these rows only.
template <typename T>
Var<T> Gather(Var<T> table, absl::Span<const int32_t> ids,
              const Shape& leading);

}  // namespace regard

#endif  // AUTODIFF_OPS_GATHER_H_
