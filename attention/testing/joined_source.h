// Keys and values that grow as positions are read.
#ifndef ATTENTION_TESTING_JOINED_SOURCE_H_
#define ATTENTION_TESTING_JOINED_SOURCE_H_

#include "attention/multi_head.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

// Joins the keys and values that were prepared first, if any, and those
// prepared after them.
template <typename T>
PreparedSource<T> Joined(const PreparedSource<T>& first,
                         const PreparedSource<T>& second) {
  constexpr int kKeyAxis = -2;
  if (!first.keys.has_value()) return second;
  return {Concat<T>({first.keys, second.keys}, kKeyAxis),
          Concat<T>({first.values, second.values}, kKeyAxis)};
}

}  // namespace regard

#endif  // ATTENTION_TESTING_JOINED_SOURCE_H_
