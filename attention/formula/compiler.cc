#include "attention/formula/compiler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attention/formula/operations.h"
#include "attention/formula/syntax.h"
#include "autodiff/tape.h"

namespace regard {
namespace {

// A part of a sum or product: subtracted or divided by if `inverse`.
struct Part {
  int term;
  bool inverse = false;
};
using Parts = std::vector<Part>;

Parts Joined(std::initializer_list<Parts> lists) {
  Parts all;
  for (const Parts& parts : lists) {
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

class Lowering {
 public:
  Lowering(const FormulaTree& formula, const FormulaTypes& types,
           FormulaProgram* program)
      : nodes_(formula.nodes),
        types_(types),
        program_(*program),
        terms_(program->terms) {}

  std::optional<FormulaProblem> Run() {
    program_.parameters = types_.parameters;
    program_.root = Lower(static_cast<int>(nodes_.size()) - 1);
    Cut();
    return problem_;
  }

 private:
  // Parts by what they depend on; numbers are not among the constants.
  struct Groups {
    Parts numbers, constants, queries, keys, pairs;
    bool empty() const {
      return constants.empty() && queries.empty() && keys.empty() &&
             pairs.empty();
    }
  };

  const FormulaTerm& at(int term) const { return terms_[term]; }
  TermLevel level(int term) const { return at(term).level; }
  bool IsNumber(int term) const { return at(term).op == TermOp::kNumber; }
  bool Is(int term, FormulaOp op) const {
    return at(term).op == TermOp::kOperation && at(term).operation == op;
  }

  // The first problem counts.
  void FailAt(std::string message) {
    if (!problem_.has_value()) problem_ = {range_, std::move(message)};
  }

  // The term, which is new only if there is no equal one.
  int Intern(FormulaTerm term) {
    for (const int operand : term.operands) {
      term.level = static_cast<TermLevel>(static_cast<int>(term.level) |
                                          static_cast<int>(level(operand)));
    }
    term.range = range_;
    const auto [found, is_new] =
        known_.emplace(std::tuple(term.op, term.operation, term.operands,
                                  term.number, std::signbit(term.number)),
                       static_cast<int>(terms_.size()));
    if (is_new) terms_.push_back(std::move(term));
    return found->second;
  }

  int Number(double number) {
    if (std::isnan(number)) {
      FailAt("this is not a number, as a logarithm or root of a negative one");
      number = 0;  // equal to itself, as known_ wants it
    }
    return Intern({.op = TermOp::kNumber, .number = number});
  }

  // An operation whose width is that of its widest operand, unless given.
  int Make(FormulaOp op, std::vector<int> operands, double number = 0,
           int64_t width = -1) {
    if (std::all_of(operands.begin(), operands.end(),
                    [this](int x) { return IsNumber(x); })) {
      std::vector<Var<double>> numbers;
      for (const int x : operands) {
        numbers.push_back(tape_.Full({}, at(x).number));
      }
      return Number(Elementwise<double>(op, number, numbers).item());
    }
    if (width < 0) {
      for (const int x : operands) width = std::max(width, at(x).width);
    }
    return Intern({.op = TermOp::kOperation,
                   .operation = op,
                   .operands = std::move(operands),
                   .number = number,
                   .width = width});
  }

  int Negate(int x) {
    if (Is(x, FormulaOp::kNegate)) return at(x).operands[0];
    return Make(FormulaOp::kNegate, {x});
  }

  // A fused comparison of queries with keys.
  int Compare(TermOp op, std::vector<int> operands, double factor = 1) {
    return Intern(
        {.op = op, .operands = std::move(operands), .number = factor});
  }

  // --- Sums and products, by what their parts depend on.

  Groups Split(const Parts& parts) const {
    Groups groups;
    Parts* const of_level[] = {&groups.constants, &groups.queries, &groups.keys,
                               &groups.pairs};
    for (const Part& part : parts) {
      Parts* const group = IsNumber(part.term)
                               ? &groups.numbers
                               : of_level[static_cast<int>(level(part.term))];
      group->push_back(part);
    }
    return groups;
  }

  // a + b - c, or a * b / c, of parts with at least one. If all are inverse,
  // so is the result.
  Part Join(const Parts& parts, FormulaOp op, FormulaOp inverse_op) {
    auto lead = std::find_if(parts.begin(), parts.end(),
                             [](const Part& part) { return !part.inverse; });
    if (lead == parts.end()) lead = parts.begin();
    Part joined = *lead;
    for (auto part = parts.begin(); part != parts.end(); ++part) {
      if (part == lead) continue;
      const bool same = part->inverse == joined.inverse;
      joined.term = Make(same ? op : inverse_op, {joined.term, part->term});
    }
    return joined;
  }

  // All groups but the numbers. Constants go to the keys if there are any, else
  // to the queries; to pairs, what depends on one side comes last.
  Part JoinAll(Groups groups, FormulaOp op, FormulaOp inverse_op) {
    auto& [numbers, constants, queries, keys, pairs] = groups;
    if (!constants.empty()) {
      Parts& to = !keys.empty() ? keys : !queries.empty() ? queries : pairs;
      to.push_back(Join(constants, op, inverse_op));
    }
    if (!queries.empty()) pairs.push_back(Join(queries, op, inverse_op));
    if (!keys.empty()) pairs.push_back(Join(keys, op, inverse_op));
    return Join(pairs, op, inverse_op);
  }

  int BuildSum(const Parts& parts) {
    Groups groups = Split(parts);
    double number = 0;
    for (const Part& part : groups.numbers) {
      number += part.inverse ? -at(part.term).number : at(part.term).number;
    }
    if (number != 0 || groups.empty() || std::isnan(number)) {
      groups.constants.push_back({Number(number)});
    }
    const Part sum =
        JoinAll(std::move(groups), FormulaOp::kAdd, FormulaOp::kSubtract);
    return sum.inverse ? Negate(sum.term) : sum.term;
  }

  int BuildProduct(double factor, const Parts& parts) {
    Groups groups = Split(parts);
    for (const Part& part : groups.numbers) {
      const double number = at(part.term).number;
      if (part.inverse && number == 0) FailAt("a division by 0");
      factor = part.inverse ? factor / number : factor * number;
    }
    if (groups.pairs.size() == 1 && !groups.pairs[0].inverse) {
      const std::optional<int> scaled =
          ScaleInPlace(groups.pairs[0].term, factor, groups);
      if (scaled.has_value()) return *scaled;
    }
    if (factor != 1 || groups.empty()) {
      Parts& to = !groups.constants.empty() ? groups.constants
                  : !groups.keys.empty()    ? groups.keys
                  : !groups.queries.empty() ? groups.queries
                                            : groups.pairs;
      if (factor == -1 && !to.empty() && !to[0].inverse) {
        to[0].term = Negate(to[0].term);
      } else {
        to.push_back({Number(factor)});
      }
    }
    const Part product =
        JoinAll(std::move(groups), FormulaOp::kMultiply, FormulaOp::kDivide);
    return product.inverse ? Make(FormulaOp::kDivide, {Number(1), product.term})
                           : product.term;
  }

  // The only term of pairs times all others, if these can go into its operands.
  std::optional<int> ScaleInPlace(int term, double factor,
                                  const Groups& others) {
    const FormulaTerm pair = at(term);  // terms_ may move
    const auto& [numbers, constants, queries, keys, pairs] = others;
    const bool scales = factor != 1 || !constants.empty();
    if (pair.op == TermOp::kDistance && factor != 1) {
      const int scaled = Compare(pair.op, pair.operands, factor * pair.number);
      return BuildProduct(1, Joined({{{scaled}}, constants, queries, keys}));
    }
    if (IsDifference(term) && queries.empty() && keys.empty() && scales) {
      return OfEach(term, [&](int x) {
        return BuildProduct(factor, Joined({{{x}}, constants}));
      });
    }
    for (const Part& part : Joined({constants, queries, keys})) {
      if (at(part.term).width != kScalarWidth) return std::nullopt;
    }
    if (pair.op == TermOp::kInnerProducts) {
      const int a =
          BuildProduct(1, Joined({{{pair.operands[0]}}, constants, queries}));
      const int b = BuildProduct(1, Joined({{{pair.operands[1]}}, keys}));
      return Compare(pair.op, {a, b}, factor * pair.number);
    }
    if (pair.op == TermOp::kAdditive && scales) {
      const int c =
          BuildProduct(factor, Joined({{{pair.operands[2]}}, constants}));
      const int scaled =
          Compare(pair.op, {pair.operands[0], pair.operands[1], c});
      return BuildProduct(1, Joined({{{scaled}}, queries, keys}));
    }
    return std::nullopt;
  }

  // f of both operands of a sum, added or subtracted as they were.
  template <typename F>
  int OfEach(int sum, F f) {
    const FormulaTerm of = at(sum);  // terms_ may move
    const int a = f(of.operands[0]);
    const int b = f(of.operands[1]);
    return BuildSum({{a}, {b, of.operation == FormulaOp::kSubtract}});
  }

  // --- Comparisons of a query with a key.

  // Whether one depends on the query alone and the other on the key alone.
  bool AreQueryAndKey(int a, int b) const {
    return (level(a) == TermLevel::kQuery && level(b) == TermLevel::kKey) ||
           (level(a) == TermLevel::kKey && level(b) == TermLevel::kQuery);
  }

  // A sum or difference of pairs, both of its operands as wide as it is.
  bool IsSumOfPairs(int x) const {
    return level(x) == TermLevel::kPair &&
           (Is(x, FormulaOp::kAdd) || Is(x, FormulaOp::kSubtract)) &&
           at(at(x).operands[0]).width == at(x).width &&
           at(at(x).operands[1]).width == at(x).width;
  }

  // One of two vectors, of a query and a key.
  bool IsDifference(int x) const {
    return IsSumOfPairs(x) && at(x).width != kScalarWidth &&
           AreQueryAndKey(at(x).operands[0], at(x).operands[1]);
  }

  // The query and the key of a difference; its second operand is negated if it
  // is a `negated` one.
  std::pair<int, int> QueryAndKey(int difference, FormulaOp negated) {
    int a = at(difference).operands[0];
    int b = at(difference).operands[1];
    if (Is(difference, negated)) b = Negate(b);
    if (level(a) == TermLevel::kKey) std::swap(a, b);
    return {a, b};
  }

  // |x|^2 of a difference, which has the square of its negative.
  int DistanceOf(int x) {
    const auto [query, key] = QueryAndKey(x, FormulaOp::kAdd);
    return Compare(TermOp::kDistance, {query, key});
  }

  int Dot(int a, int b) {
    if (level(a) > level(b)) std::swap(a, b);
    if (AreQueryAndKey(a, b)) return Compare(TermOp::kInnerProducts, {a, b});
    if (a == b && IsDifference(a)) return DistanceOf(a);
    if (level(a) == TermLevel::kConstant && Is(b, FormulaOp::kTanh) &&
        IsDifference(at(b).operands[0])) {
      const auto [query, key] =
          QueryAndKey(at(b).operands[0], FormulaOp::kSubtract);
      return Compare(TermOp::kAdditive, {query, key, a});
    }
    if (IsSumOfPairs(b)) {
      return OfEach(b, [=, this](int x) { return Dot(a, x); });
    }
    return Make(FormulaOp::kDot, {a, b}, 0, kScalarWidth);
  }

  int Product(int matrix, int x) {
    if (IsSumOfPairs(x)) {
      return OfEach(x, [=, this](int part) { return Product(matrix, part); });
    }
    const auto& parameter =
        program_.parameters[static_cast<size_t>(at(matrix).number)];
    return Make(FormulaOp::kProduct, {matrix, x}, 0, parameter.rows);
  }

  int SumOf(int x) {
    const std::vector<int> of = at(x).operands;
    if (Is(x, FormulaOp::kPower) && at(x).number == 2 && IsDifference(of[0])) {
      return DistanceOf(of[0]);
    }
    if (Is(x, FormulaOp::kMultiply) && AreQueryAndKey(of[0], of[1]) &&
        at(of[0]).width == at(of[1]).width) {
      return Dot(of[0], of[1]);
    }
    if (IsSumOfPairs(x)) {
      return OfEach(x, [this](int part) { return SumOf(part); });
    }
    return Make(FormulaOp::kSum, {x}, 0, kScalarWidth);
  }

  int Power(int x, double exponent) {
    if (exponent == 1) return x;
    if (exponent == 2 && at(x).op == TermOp::kRoot) return at(x).operands[0];
    return Make(FormulaOp::kPower, {x}, exponent);
  }

  // --- The tree.

  int Lower(int n) {
    const FormulaNode& node = nodes_[n];
    std::vector<int> operands;
    switch (node.op) {
      case FormulaOp::kAdd:
      case FormulaOp::kSubtract:
        return LowerSum(n);
      case FormulaOp::kNegate:
      case FormulaOp::kMultiply:
      case FormulaOp::kDivide:
        return LowerProduct(n);
      case FormulaOp::kName:
        range_ = node.range;
        return LowerName(n);
      default:
        break;
    }
    for (const int operand : node.operands) operands.push_back(Lower(operand));
    range_ = node.range;
    switch (node.op) {
      case FormulaOp::kNumber:
        return Number(node.number);
      case FormulaOp::kPower:
        return Power(operands[0], node.number);
      case FormulaOp::kProduct:
        return Product(operands[0], operands[1]);
      case FormulaOp::kDot:
        return Dot(operands[0], operands[1]);
      case FormulaOp::kSum:
        return SumOf(operands[0]);
      case FormulaOp::kNorm: {
        const int squared = SumOf(Power(operands[0], 2));
        return Intern({.op = TermOp::kRoot, .operands = {squared}});
      }
      default:
        return Make(node.op, std::move(operands));
    }
  }

  int LowerName(int n) {
    const std::string& name = nodes_[n].name;
    const int64_t width = types_.widths[n];
    const auto leaf = [&](TermOp op, TermLevel level) {
      return Intern({.op = op, .width = width, .level = level});
    };
    if (const int p = types_.parameter_of[n]; p >= 0) {
      return Intern(
          {.op = TermOp::kParameter, .number = double(p), .width = width});
    }
    if (name == "q") return leaf(TermOp::kQueries, TermLevel::kQuery);
    if (name == "k") return leaf(TermOp::kKeys, TermLevel::kKey);
    if (name == "i") return leaf(TermOp::kQueryPosition, TermLevel::kQuery);
    if (name == "j") return leaf(TermOp::kKeyPosition, TermLevel::kKey);
    return Number(
        static_cast<double>(name == "dk" ? types_.of.key : types_.of.query));
  }

  // Calls part(node, inverse) for what a chain of + and -, or of * and /, is
  // made of.
  template <typename F>
  void ForParts(int n, FormulaOp op, FormulaOp inverse_op, bool inverse,
                const F& part) {
    const FormulaNode& node = nodes_[n];
    if (node.op == op || node.op == inverse_op) {
      ForParts(node.operands[0], op, inverse_op, inverse, part);
      const bool turns = node.op == inverse_op;
      return ForParts(node.operands[1], op, inverse_op, inverse != turns, part);
    }
    part(n, inverse);
  }

  int LowerSum(int n) {
    Parts parts;
    ForParts(n, FormulaOp::kAdd, FormulaOp::kSubtract, false,
             [&](int node, bool inverse) {
               parts.push_back({Lower(node), inverse});
               if (!Is(parts.back().term, FormulaOp::kNegate)) return;
               parts.back() = {at(parts.back().term).operands[0], !inverse};
             });
    range_ = nodes_[n].range;
    return BuildSum(parts);
  }

  int LowerProduct(int n) {
    double sign = 1;
    Parts parts;
    ForParts(n, FormulaOp::kMultiply, FormulaOp::kDivide, false,
             [&](int node, bool inverse) {
               while (nodes_[node].op == FormulaOp::kNegate) {
                 sign = -sign;
                 node = nodes_[node].operands[0];
               }
               parts.push_back({Lower(node), inverse});
             });
    range_ = nodes_[n].range;
    return BuildProduct(sign, parts);
  }

  // --- What Prepare() stores.

  // All terms of the key that others need, but for bare positions.
  void Cut() {
    std::vector<bool> in_score(terms_.size(), false);
    std::vector<bool> in_prepare(terms_.size(), false);
    std::vector<bool> stored(terms_.size(), false);
    in_score[program_.root] = true;
    for (int t = static_cast<int>(terms_.size()) - 1; t >= 0; --t) {
      if (in_score[t] && level(t) == TermLevel::kKey &&
          at(t).op != TermOp::kKeyPosition) {
        stored[t] = in_prepare[t] = true;
        in_score[t] = false;
      }
      for (const int operand : at(t).operands) {
        if (in_score[t]) in_score[operand] = true;
        if (in_prepare[t]) in_prepare[operand] = true;
      }
    }
    for (int t = 0; t < static_cast<int>(terms_.size()); ++t) {
      if (in_score[t]) program_.score_order.push_back(t);
      if (in_prepare[t]) program_.prepare_order.push_back(t);
      if (stored[t]) program_.prepared.push_back(t);
    }
  }

  const std::vector<FormulaNode>& nodes_;
  const FormulaTypes& types_;
  FormulaProgram& program_;
  std::vector<FormulaTerm>& terms_;
  TextRange range_;    // of the node that is lowered
  Tape<double> tape_;  // computes numbers
  std::map<std::tuple<TermOp, FormulaOp, std::vector<int>, double, bool>, int>
      known_;
  std::optional<FormulaProblem> problem_;
};

}  // namespace

std::optional<FormulaProblem> CompileFormula(
    absl::string_view text, const FormulaWidths& widths,
    absl::Span<const DeclaredParameter> declared, FormulaProgram* program) {
  FormulaTree formula;
  if (auto problem = ParseFormula(text, &formula)) {
    return FormulaProblem{problem->range, std::move(problem->message)};
  }
  FormulaTypes types;
  if (auto problem = InferFormulaTypes(formula, widths, declared, &types)) {
    return problem;
  }
  *program = {};
  program->text = std::string(text);
  return Lowering(formula, types, program).Run();
}

}  // namespace regard
