// The precision of matrix products on a tape.
//
// The tape's rule applies to products of linear layers and recurrent gates, of
// queries and keys, and of attention weights and values. All other operations
// compute in the precision of their numbers.
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
