// Joins the prepared keys and values of successive parts of a source.
#ifndef ATTENTION_TESTING_JOINED_SOURCE_H_
#define ATTENTION_TESTING_JOINED_SOURCE_H_

#include "attention/multi_head.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

// Returns `first` followed by `second`. `first` may be empty.
template <typename T>
PreparedSource<T> JoinSources(const PreparedSource<T>& first,
                              const PreparedSource<T>& second) {
  constexpr int kKeyAxis = -2;
  if (!first.keys.has_value()) return second;
  return {Concat<T>({first.keys, second.keys}, kKeyAxis),
          Concat<T>({first.values, second.values}, kKeyAxis)};
}

}  // namespace regard

#endif  // ATTENTION_TESTING_JOINED_SOURCE_H_
