#ifndef AUTODIFF_FULL_PRECISION_SCOPE_H_
#define AUTODIFF_FULL_PRECISION_SCOPE_H_

#include "autodiff/precision.h"
#include "autodiff/tape.h"

namespace regard {

// Disables the precision rule of a tape during its lifetime, so that products
// do not round their operands.
template <typename T>
class FullPrecisionScope {
 public:
  explicit FullPrecisionScope(Tape<T>& tape)
      : tape_(tape), outer_(tape.precision_rule()) {
    tape.set_precision_rule(nullptr);
  }
  ~FullPrecisionScope() { tape_.set_precision_rule(outer_); }

  FullPrecisionScope(const FullPrecisionScope&) = delete;
  FullPrecisionScope& operator=(const FullPrecisionScope&) = delete;

 private:
  Tape<T>& tape_;
  const PrecisionRule* const outer_;
};

}  // namespace regard

#endif  // AUTODIFF_FULL_PRECISION_SCOPE_H_
