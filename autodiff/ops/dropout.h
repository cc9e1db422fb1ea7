// Dropout whose mask is a function of what it is for.
#ifndef AUTODIFF_OPS_DROPOUT_H_
#define AUTODIFF_OPS_DROPOUT_H_

#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

// While the tape trains, sets elements of x [examples, .., cols] to zero with
// probability `rate`, 0 <= rate < 1, and divides the others by 1 - rate;
// otherwise returns x.
//
// The mask depends on the tape's seed and step, the number of the example (the
// tape's random().examples, or the place along the leading axis), the tape's
// scope and `site`, and the place within the example. So it is the same when
// recomputed, and in whatever shard an example is. Two calls in one scope need
// two sites. Steps and example numbers count modulo 2^32.
template <typename T>
Var<T> Dropout(Var<T> x, std::type_identity_t<T> rate, const char* site);

}  // namespace regard

#endif  // AUTODIFF_OPS_DROPOUT_H_
