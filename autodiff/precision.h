// The precision of matrix products on a tape.
//
// The tape's rule applies to Linear(), MatMul(), LinearCrossEntropy(), the
// gates of GRU and LSTM, and the products of attention kernels. State mixers
// suspend the rule. All other operations compute in the precision of their
// numbers.
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
