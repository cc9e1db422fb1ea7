// Computes a lowered formula on a tape.
#ifndef ATTENTION_FORMULA_EVALUATION_H_
#define ATTENTION_FORMULA_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/formula/inner_terms.h"
#include "attention/formula/node.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// A formula with its parameters, for any number of tapes. It has inner form if
// FindInnerTerms() finds one.
template <typename T>
class FormulaScorer : public ScoringFunction<T> {
 public:
  // Adds the parameters: matrices [heads, rows, columns], vectors [heads,
  // width], tables [heads, indices] and scalars [heads].
  FormulaScorer(FormulaGraph formula, ParameterScope<T> scope, int64_t heads);

  // What depends on the keys alone, side by side.
  Var<T> Prepare(Forward<T>& forward,
                 const PrepareInputs<T>& inputs) const override;
  int64_t NumbersPerPair() const override;
  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const override;
  std::optional<InnerForm<T>> Inner(Forward<T>& forward,
                                    const ScoreInputs<T>& in) const override;

 private:
  class Values;

  FormulaGraph formula_;
  std::optional<InnerTerms> inner_;
  std::vector<Parameter<T>> parameters_;
  std::vector<std::string> names_;  // of the nodes, for the tape
};

}  // namespace regard

#endif  // ATTENTION_FORMULA_EVALUATION_H_
