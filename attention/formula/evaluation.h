// Evaluates a compiled formula on a tape.
#ifndef ATTENTION_FORMULA_EVALUATION_H_
#define ATTENTION_FORMULA_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/formula/inner_product_decomposition.h"
#include "attention/formula/node.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// A formula with its parameters, usable with any number of tapes. Inner()
// returns nullopt if DecomposeIntoInnerProduct() cannot split the formula.
template <typename T>
class FormulaScorer : public ScoringFunction<T> {
 public:
  // Adds the parameters to `scope`: matrices [heads, rows, columns], vectors
  // [heads, width], tables [heads, indices] and scalars [heads].
  FormulaScorer(FormulaGraph formula, ParameterScope<T> scope, int64_t heads);

  // Returns the values that depend only on the keys, concatenated along the
  // last axis.
  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& inputs) const override;
  int64_t WidthPerPair() const override;
  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override;
  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override;

 private:
  class Values;

  FormulaGraph formula_;
  std::optional<InnerProductDecomposition> inner_;
  std::vector<Parameter<T>> parameters_;
  std::vector<std::string> names_;  // names of the nodes on the tape
};

}  // namespace regard

#endif  // ATTENTION_FORMULA_EVALUATION_H_
