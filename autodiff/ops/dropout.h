// Dropout whose mask is a function of the element's identity.
#ifndef AUTODIFF_OPS_DROPOUT_H_
#define AUTODIFF_OPS_DROPOUT_H_

#include <cstdint>
#include <type_traits>

#include "autodiff/tape.h"

namespace regard {

// Sets each element of x to zero with probability `rate`, and divides all other
// elements by 1 - rate. `rate` must be in [0, 1). Returns x unless the tape is
// in training mode.
//
// The decision to keep an element depends only on
// * the tape's seed and step,
// * the tape's scope and `site`,
// * the number of the example, and
// * the indices of the element along the other axes.
//
// random().examples of the tape contains the numbers of the examples. If this
// span is empty, the number of an example is its index along axis 0. x may have
// fewer examples than the span.
//
// The mask therefore does not depend on sharding or padding, and a
// recomputation computes an equal mask. The mask of a smaller array equals the
// leading part of the mask of a larger array.
//
// The last two axes of x may be parts of longer axes. The parts begin at
// `first_row` and `first_column`. Their mask is the corresponding part of the
// mask of the whole array.
//
// Two calls in one NameScope must have different sites. Otherwise, the second
// call fails a check if the random state and the first row and column are also
// the same. There is no such check outside of scopes. If a scope is opened
// again, its masks are the same as before. Steps and example numbers are taken
// modulo 2^32.
template <typename T>
Var<T> Dropout(Var<T> x, std::type_identity_t<T> rate, const char* site,
               int64_t first_row = 0, int64_t first_column = 0);

// The mask of Dropout(), for kernels that drop elements of [batch, heads, rows,
// cols] while they compute them. Uses the scope and the random state that the
// tape has when the mask is constructed. Trivially copyable.
class DropoutMask {
 public:
  template <typename T>
  DropoutMask(Tape<T>& tape, double rate, const char* site)
      : DropoutMask(tape.random(), tape.scope(), tape.training() ? rate : 0,
                    site) {
    if (drops()) tape.ClaimMask(site, ClaimKey());
  }

  bool drops() const { return rate_ > 0; }
  // The factor by which kept elements are multiplied.
  double scale() const { return 1 / (1 - rate_); }

  // Sets keep[i] to whether element first + i of a row is kept, for i < count.
  void FillRow(int64_t example, int64_t head, int64_t row, int64_t first,
               int64_t count, uint8_t* keep) const;

 private:
  DropoutMask(const RandomState& random, const ScopeName* scope, double rate,
              const char* site);
  // Returns a key that distinguishes the masks of one scope.
  uint64_t ClaimKey(int64_t first_row = 0, int64_t first_column = 0) const;

  template <typename T>
  friend Var<T> Dropout(Var<T> x, std::type_identity_t<T> rate,
                        const char* site, int64_t first_row,
                        int64_t first_column);

  RandomState random_;
  uint64_t hash_;
  double rate_;
};

}  // namespace regard

#endif  // AUTODIFF_OPS_DROPOUT_H_
