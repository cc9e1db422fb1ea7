// Selects rows or columns of a table by index, for example rows of an embedding
// table.
#ifndef AUTODIFF_OPS_GATHER_H_
#define AUTODIFF_OPS_GATHER_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

// Returns the rows `ids` of table [rows, cols] as an array [leading.., cols].
// `leading` must have as many elements as `ids`. `ids` need not outlive the
// call. A sparse gradient of a leaf is written only in these rows.
template <typename T>
Var<T> Gather(Var<T> table, absl::Span<const int32_t> ids,
              const Shape& leading);

// Returns the columns `ids` of table [rows, cols], as a matrix [rows,
// ids.size()]. `ids` need not outlive the call.
template <typename T>
Var<T> GatherColumns(Var<T> table, absl::Span<const int32_t> ids);

}  // namespace regard

#endif  // AUTODIFF_OPS_GATHER_H_
