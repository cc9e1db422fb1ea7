// Keys and values that grow as positions are read.
#ifndef ATTENTION_CHECKS_JOINED_SOURCE_H_
#define ATTENTION_CHECKS_JOINED_SOURCE_H_

#include "attention/multi_head.h"
#include "autodiff/ops/shape_ops.h"

namespace regard {

// What was prepared first, if anything, and what was prepared after it.
template <typename T>
PreparedSource<T> Joined(const PreparedSource<T>& first,
                         const PreparedSource<T>& second) {
  constexpr int kKeyAxis = -2;
  if (!first.keys.has_value()) return second;
  return {Concat<T>({first.keys, second.keys}, kKeyAxis),
          Concat<T>({first.values, second.values}, kKeyAxis)};
}

}  // namespace regard

#endif  // ATTENTION_CHECKS_JOINED_SOURCE_H_
