// A formula as an inner product and terms of the query, of the key and of the
// distance between their positions.
#ifndef ATTENTION_FORMULA_INNER_TERMS_H_
#define ATTENTION_FORMULA_INNER_TERMS_H_

#include <optional>
#include <vector>

#include "attention/formula/node.h"

namespace regard {

struct InnerTerms {
  // A node, added or subtracted.
  struct Term {
    int node;
    bool negative;
  };

  Term product;  // a kInnerProducts
  std::vector<Term> of_query;
  std::vector<Term> of_key;
  std::vector<Term> of_distance;
  // Nodes to compute in rising order, from queries and prepared keys for all
  // but the last terms, and from positions for these.
  std::vector<int> order;
  std::vector<int> distance_order;
};

// nullopt if a lowered formula is not such a sum, or a term may be infinite.
std::optional<InnerTerms> FindInnerTerms(const FormulaGraph& formula);

}  // namespace regard

#endif  // ATTENTION_FORMULA_INNER_TERMS_H_
