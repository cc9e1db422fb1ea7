#include "attention/formula/program.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace regard {

std::string FormulaProgram::Text(int index) const {
  const FormulaTerm& term = terms[index];
  std::vector<std::string> of;
  for (const int operand : term.operands) of.push_back(Text(operand));
  const auto factor = [&] {
    return term.number == 1 ? "" : absl::StrCat(term.number, " * ");
  };
  const auto infix = [&](absl::string_view between) {
    return absl::StrCat("(", of[0], between, of[1], ")");
  };
  switch (term.op) {
    case TermOp::kNumber:
      return absl::StrCat(term.number);
    case TermOp::kParameter:
      return parameters[static_cast<size_t>(term.number)].name;
    case TermOp::kQueries:
      return "q";
    case TermOp::kKeys:
      return "k";
    case TermOp::kQueryPosition:
      return "i";
    case TermOp::kKeyPosition:
      return "j";
    case TermOp::kRoot:
      return absl::StrCat("sqrt(", of[0], ")");
    case TermOp::kInnerProducts:
      return factor() + infix(" . ");
    case TermOp::kAdditive:
      return absl::StrCat("(", of[2], " . tanh", infix(" + "), ")");
    case TermOp::kDistance:
      return absl::StrCat(factor(), "sum(", infix(" - "), "^2)");
    case TermOp::kOperation:
      break;
  }
  switch (term.operation) {
    case FormulaOp::kAdd:
      return infix(" + ");
    case FormulaOp::kSubtract:
      return infix(" - ");
    case FormulaOp::kMultiply:
      return infix(" * ");
    case FormulaOp::kDivide:
      return infix(" / ");
    case FormulaOp::kProduct:
      return infix(" ");
    case FormulaOp::kDot:
      return infix(" . ");
    case FormulaOp::kNegate:
      return absl::StrCat("(-", of[0], ")");
    case FormulaOp::kPower:
      return absl::StrCat(of[0], "^", term.number);
    case FormulaOp::kWhere:
      of[0] = absl::StrCat(of[0], " < ", of[1]);
      of.erase(of.begin() + 1);
      break;
    default:
      break;
  }
  return absl::StrCat(FormulaFunctionName(term.operation), "(",
                      absl::StrJoin(of, ", "), ")");
}

}  // namespace regard
