// Splits a formula into an inner product and terms of the query, of the key and
// of the distance between their positions.
#ifndef ATTENTION_FORMULA_INNER_PRODUCT_DECOMPOSITION_H_
#define ATTENTION_FORMULA_INNER_PRODUCT_DECOMPOSITION_H_

#include <optional>
#include <vector>

#include "attention/formula/node.h"

namespace regard {

struct InnerProductDecomposition {
  // A node that is added or subtracted.
  struct Term {
    int node;
    bool negative;
  };

  Term product;  // a kInnerProducts node
  std::vector<Term> of_query;
  std::vector<Term> of_key;
  std::vector<Term> of_distance;
  // Nodes to compute, in ascending order. The nodes in `order` depend on
  // queries and prepared keys. The nodes in `distance_order` depend on
  // positions.
  std::vector<int> order;
  std::vector<int> distance_order;
};

// Splits a compiled formula into one inner product and other terms. Returns
// nullopt if the formula cannot be split, or if a term can be infinite.
std::optional<InnerProductDecomposition> DecomposeIntoInnerProduct(
    const FormulaGraph& formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_INNER_PRODUCT_DECOMPOSITION_H_
