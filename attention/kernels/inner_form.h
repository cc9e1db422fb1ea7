// A score that is an inner product of what a query and a key become, with terms
// that depend on the query, on the key or on their distance.
#ifndef ATTENTION_KERNELS_INNER_FORM_H_
#define ATTENTION_KERNELS_INNER_FORM_H_

#include "attention/kernels/difference_bias.h"
#include "attention/kernels/distance_bias.h"
#include "attention/positions.h"
#include "autodiff/tape.h"

namespace regard {

// factor * a . b + query_bias + key_bias + distance_bias + difference_bias.
// Biases may be empty.
template <typename T>
struct InnerForm {
  Var<T> a;  // [batch, heads, queries, width]
  // [batch, key heads, keys, width]. heads is a multiple of the key heads:
  // successive heads share keys.
  Var<T> b;
  T factor = T(1);
  Var<T> query_bias = {};  // [batch, heads, queries, 1]
  Var<T> key_bias = {};    // [batch, key heads, keys, 1]
  DistanceBias<T> distance_bias = {};
  DifferenceBias<T> difference_bias = {};
};

// The same scores without the biases of queries and keys: each becomes a
// dimension of a and b, of which the other side is 1.
template <typename T>
InnerForm<T> WithoutRowBiases(const InnerForm<T>& form);

// scores [batch, heads, queries, keys] plus `bias`, which may be empty.
template <typename T>
Var<T> PlusDifferences(Var<T> scores, const DifferenceBias<T>& bias);

// The scores [batch, heads, queries, keys].
template <typename T>
Var<T> DenseScores(const InnerForm<T>& form, const Positions& positions);

// q . k for every query and key of one width: [batch, heads, queries, keys].
// Keys may have fewer heads, a divisor of the queries'.
template <typename T>
Var<T> InnerProducts(Var<T> queries, Var<T> keys);

}  // namespace regard

#endif  // ATTENTION_KERNELS_INNER_FORM_H_
