// Scores that are an inner product of a query's vector and a key's vector. They
// may have further terms that depend on the query, the key or their distance.
#ifndef ATTENTION_KERNELS_INNER_FORM_H_
#define ATTENTION_KERNELS_INNER_FORM_H_

#include "attention/kernels/difference_bias.h"
#include "attention/kernels/distance_bias.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// The score is factor * a . b plus query_bias, key_bias, distance_bias and
// difference_bias. Biases may be empty.
template <typename T>
struct InnerForm {
  Var<T> a;  // [batch, heads, queries, width]
  // [batch, key heads, keys, width]. The number of key heads divides `heads`:
  // successive heads share keys.
  Var<T> b;
  T factor = T(1);
  Var<T> query_bias = {};  // [batch, heads, queries, 1]
  Var<T> key_bias = {};    // [batch, key heads, keys, 1]
  DistanceBias<T> distance_bias = {};
  DifferenceBias<T> difference_bias = {};
};

// Returns a form with the same scores, in which each bias of queries or keys is
// a further dimension of a and b. The other operand is 1 in that dimension. If
// products round their operands, adds the biases to difference_bias instead,
// which is not rounded.
template <typename T>
InnerForm<T> FoldBiasesIntoOperands(const InnerForm<T>& form);

// Returns scores [batch, heads, queries, keys] plus `bias`, which may be empty.
template <typename T>
Var<T> AddDifferenceBias(Var<T> scores, const DifferenceBias<T>& bias);

// The scores as an array, [batch, heads, queries, keys].
template <typename T>
Var<T> DenseScores(const InnerForm<T>& form, const Positions& positions);

// Returns q . k for each query and each key: [batch, heads, queries, keys].
// Queries and keys have the same width. The number of key heads may be a
// divisor of the number of query heads.
template <typename T>
Var<T> InnerProducts(Var<T> queries, Var<T> keys);

}  // namespace regard

#endif  // ATTENTION_KERNELS_INNER_FORM_H_
