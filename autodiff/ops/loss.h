// Losses: sums over the batch, which the caller divides by a global count.
#ifndef AUTODIFF_OPS_LOSS_H_
#define AUTODIFF_OPS_LOSS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "autodiff/tape.h"

namespace regard {

struct CrossEntropyOptions {
  // The fraction of the target's probability that is distributed uniformly over
  // all classes, in 0 .. 1.
  double label_smoothing = 0;
  // Rows with this target are ignored.
  int32_t ignore_id = -1;
};

// The negative log likelihood of `targets` [rows] under softmax(logits) [..,
// V], in nats, summed over the rows that are not ignored -> scalar. `targets`
// is copied.
template <typename T>
Var<T> CrossEntropy(Var<T> logits, absl::Span<const int32_t> targets,
                    const CrossEntropyOptions& options = {});

// CrossEntropy(Linear(x, weight, bias), targets, options), computed by blocks
// of rows. The full logits are never stored, rows that are ignored are not
// computed, and the gradients are computed in the forward pass. Shapes: x [..,
// in], weight [V, in], bias [V] or empty.
template <typename T>
Var<T> LinearCrossEntropy(Var<T> x, Var<T> weight, Var<T> bias,
                          absl::Span<const int32_t> targets,
                          const CrossEntropyOptions& options = {});

// The sum of (a - b)^2 over all elements -> scalar. The operands must have the
// same shape.
template <typename T>
Var<T> SquaredError(Var<T> a, Var<T> b);

}  // namespace regard

#endif  // AUTODIFF_OPS_LOSS_H_
