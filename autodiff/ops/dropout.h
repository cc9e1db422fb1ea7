// Dropout whose mask is a function of the element's identity.
#ifndef AUTODIFF_OPS_DROPOUT_H_
#define AUTODIFF_OPS_DROPOUT_H_

#include <cstdint>
#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

// While the tape trains, sets each element of x to zero with probability `rate`
// (0 <= rate < 1) and divides the others by 1 - rate; otherwise returns x.
//
// Whether an element is kept depends only on the tape's seed and step, the
// tape's scope and `site`, the number of the example (the tape's
// random().examples, of which x may have the first alone, or the index along
// axis 0), and the indices of the element along the other axes. The mask is
// therefore the same when it is recomputed, whatever shard contains the
// example, and however far any axis is padded: the mask of a smaller array is
// the corner of that of a larger one.
//
// Axis -2 of x may be a part of a longer one that begins at `first_row`: the
// mask is that part of the mask of the whole.
//
// Two calls in one scope need different sites. Steps and example numbers count
// modulo 2^32.
template <typename T>
Var<T> Dropout(Var<T> x, std::type_identity_t<T> rate, const char* site,
               int64_t first_row = 0);

}  // namespace regard

#endif  // AUTODIFF_OPS_DROPOUT_H_
