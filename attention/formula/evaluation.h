// Computes the terms of a formula on a tape.
#ifndef ATTENTION_FORMULA_EVALUATION_H_
#define ATTENTION_FORMULA_EVALUATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/formula/program.h"
#include "attention/scoring_function.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {

// A formula with its parameters, for any number of tapes.
template <typename T>
class FormulaScorer {
 public:
  // Adds the parameters: matrices [heads, rows, columns], vectors [heads,
  // width] and scalars [heads].
  FormulaScorer(FormulaProgram program, ParameterScope<T> scope, int64_t heads);

  // What depends on the keys [batch, heads, keys, width] alone, side by side:
  // [batch, heads, keys, prepared width].
  Var<T> Prepare(Forward<T>& forward, Var<T> keys, int64_t key_position) const;

  // [batch, heads, queries, keys].
  Var<T> Score(Forward<T>& forward, const ScoreInputs<T>& in) const;

  // Where the formula is factor * (a . b) of a query and a key: these, else an
  // empty `queries`.
  struct InnerProduct {
    Var<T> queries, keys;
    T factor = 1;
  };
  InnerProduct AsInnerProduct(Forward<T>& forward,
                              const ScoreInputs<T>& in) const;

 private:
  class Values;

  void Restore(Var<T> prepared, Values* values) const;

  FormulaProgram program_;
  std::vector<Parameter<T>> parameters_;
  std::vector<std::string> names_;  // of the terms, for the tape
};

}  // namespace regard

#endif  // ATTENTION_FORMULA_EVALUATION_H_
