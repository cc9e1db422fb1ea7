// The precision of the matrix products of a tape.
//
// Products of linear layers, of recurrent gates, of inner products of queries
// and keys, and of weights and values follow the rule of their tape. All other
// operations compute in the precision of their numbers.
#ifndef AUTODIFF_PRECISION_H_
#define AUTODIFF_PRECISION_H_

#include "autodiff/kernels/product_precision.h"

namespace regard {

struct ScopeName;

// Decides which products round their operands. Thread-safe.
class PrecisionRule {
 public:
  virtual ~PrecisionRule() = default;

  // Returns the precision of the products in a scope. `scope` is null outside
  // of scopes.
  virtual ProductPrecision At(const ScopeName* scope) const = 0;
};

}  // namespace regard

#endif  // AUTODIFF_PRECISION_H_
