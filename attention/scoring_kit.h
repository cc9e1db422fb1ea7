// Everything that the file of a scoring function includes: the interface,
// operations, initializers, and computations that several scores share.
#ifndef ATTENTION_SCORING_KIT_H_
#define ATTENTION_SCORING_KIT_H_

#include <cstdint>

#include "attention/attention_registry.h"
#include "attention/kernels/inner_form.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/initializers.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

// The shape of the scores, [batch, heads, queries, keys].
template <typename T>
Shape ScoreShape(const ScoreInputs<T>& in) {
  return {in.queries.dim(0), in.queries.dim(1), in.queries.dim(2),
          in.keys.dim(2)};
}

// Multiplies x [batch, heads, n, in] by the transpose of each head's weight
// [heads, out, in]. Returns [batch, heads, n, out].
template <typename T>
Var<T> ProjectHeads(Var<T> x, Var<T> weight);

// Normalizes each row of x [.., width] to length 1: x / sqrt(|x|^2 + 1e-12).
// Rows that are not much longer than 1e-6 become shorter than 1, and rows of 0
// stay 0.
template <typename T>
Var<T> L2Normalize(Var<T> x);

// The weights around each key: weights [batch, heads, queries, keys] -> [batch,
// heads, queries * keys, 2 * reach + 1]. Row q * keys + k has the weights of
// query q for the keys k - reach .. k + reach, and 0 beyond the ends.
template <typename T>
Var<T> WindowsAroundKeys(Var<T> weights, int64_t reach);

}  // namespace regard

#endif  // ATTENTION_SCORING_KIT_H_
