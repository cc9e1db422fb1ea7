// What a formula computes, and where: once per source, once per query, or for
// every pair of query and key.
#ifndef ATTENTION_FORMULA_PROGRAM_H_
#define ATTENTION_FORMULA_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "attention/formula/syntax.h"
#include "attention/formula/types.h"
#include "files/config_text.h"

namespace regard {

// What a term depends on.
enum class TermLevel { kConstant = 0, kQuery = 1, kKey = 2, kPair = 3 };

enum class TermOp {
  kNumber,
  kParameter,
  kQueries,
  kKeys,
  kQueryPosition,
  kKeyPosition,
  kOperation,      // of formulas: a FormulaOp
  kRoot,           // a square root whose gradient at 0 is 0
  kInnerProducts,  // number * (a . b) of a query a and a key b
  kAdditive,       // c . tanh(a + b) of a query a, a key b and a constant c
  kDistance,       // number * |a - b|^2 of a query a and a key b
};

struct FormulaTerm {
  TermOp op = TermOp::kNumber;
  FormulaOp operation = FormulaOp::kNumber;
  std::vector<int> operands = {};  // indices of earlier terms
  double number = 0;               // an exponent; a factor; a parameter's index
  int64_t width = kScalarWidth;
  TermLevel level = TermLevel::kConstant;
  TextRange range = {};  // in the formula
};

struct FormulaProgram {
  std::string text;  // the formula
  std::vector<InferredParameter> parameters;
  std::vector<FormulaTerm> terms;
  int root = -1;
  // What Prepare() stores side by side, in this order; empty: the keys.
  std::vector<int> prepared;
  // What Prepare() computes for them, and Score() with them, in rising order.
  std::vector<int> prepare_order;
  std::vector<int> score_order;

  // The term as a formula: "(W q) . k * 0.5".
  std::string Text(int term) const;
};

}  // namespace regard

#endif  // ATTENTION_FORMULA_PROGRAM_H_
