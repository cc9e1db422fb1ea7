#include "attention/formula/compiler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "attention/formula/syntax.h"
#include "autodiff/tape.h"

namespace regard {
namespace {

using enum FormulaOp;

// A term of a sum or a factor of a product. If `inverse` is true, the sum
// subtracts the term, or the product divides by the factor.
struct Part {
  int node;
  bool inverse = false;
};
using Parts = std::vector<Part>;
using PartsByLevel = std::array<Parts, 4>;

struct Chain {
  FormulaOp op, inverse_op;
};
constexpr Chain kSums = {kAdd, kSubtract};
constexpr Chain kProducts = {kMultiply, kDivide};

class Lowering {
 public:
  explicit Lowering(FormulaGraph* formula)
      : tree_(std::exchange(formula->nodes, {})),
        formula_(*formula),
        nodes_(formula->nodes) {}

  std::optional<FormulaProblem> Run() {
    formula_.root = Lower(formula_.root);
    Cut();
    return problem_;
  }

 private:
  const FormulaNode& at(int node) const { return nodes_[node]; }
  FormulaLevel level(int node) const { return at(node).level; }
  bool Is(int node, FormulaOp op) const { return at(node).op == op; }

  // Stores the first problem. Later problems are ignored.
  void Fail(std::string message) {
    if (!problem_.has_value()) problem_ = {range_, std::move(message)};
  }

  // Returns the index of a node that is equal to `node`. Appends `node` if
  // there is none.
  int Intern(FormulaNode node) {
    if (node.op == kQueries || node.op == kQueryInput ||
        node.op == kQueryPosition) {
      node.level = FormulaLevel::kQuery;
    } else if (node.op == kKeys || node.op == kKeyInput ||
               node.op == kKeyPosition) {
      node.level = FormulaLevel::kKey;
    }
    for (const int operand : node.operands) {
      node.level = static_cast<FormulaLevel>(static_cast<int>(node.level) |
                                             static_cast<int>(level(operand)));
    }
    node.range = range_;
    const auto key = [](const FormulaNode& x) {
      return std::tuple(x.op, x.number, std::signbit(x.number), x.parameter);
    };
    const auto found =
        std::find_if(nodes_.begin(), nodes_.end(), [&](const FormulaNode& x) {
          return key(x) == key(node) && x.operands == node.operands;
        });
    const auto index = static_cast<int>(found - nodes_.begin());
    if (found == nodes_.end()) nodes_.push_back(std::move(node));
    return index;
  }

  int Number(double number) {
    if (std::isnan(number)) {
      Fail(
          "this is not a number, like the logarithm or root of a negative "
          "number");
    }
    return Intern({.op = kNumber, .number = number});
  }

  int Make(FormulaOp op, std::vector<int> operands) {
    int64_t width = kScalarWidth;
    bool folds = IsElementwise(op);
    std::vector<Var<double>> numbers;
    for (const int x : operands) {
      if (IsElementwise(op)) width = std::max(width, at(x).width);
      folds = folds && Is(x, kNumber);
      numbers.push_back(tape_.Full({}, at(x).number));
    }
    if (folds) {
      return Number(FormulaOpInfoFor<double>(op).value(numbers.data()).item());
    }
    if (op == kProduct) width = at(operands[0]).width;
    return Intern({.op = op, .operands = std::move(operands), .width = width});
  }

  int Negate(int x) {
    return Is(x, kNegate) ? at(x).operands[0] : Make(kNegate, {x});
  }

  // --- Sums and products, grouped by the inputs that their parts depend on.

  // Joins one or more parts into a sum such as a + b - c, or into a product
  // such as a * b / c. If all parts are inverse, the joined part is also
  // inverse.
  Part Join(const Chain& chain, Parts parts) {
    const auto lead = std::find_if(parts.begin(), parts.end(),
                                   [](const Part& x) { return !x.inverse; });
    if (lead != parts.end()) std::rotate(parts.begin(), lead, lead + 1);
    Part joined = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) {
      const bool same = parts[i].inverse == joined.inverse;
      joined.node = Make(same ? chain.op : chain.inverse_op,
                         {joined.node, parts[i].node});
    }
    return joined;
  }

  // Joins all groups into one part. Constants are joined with keys first, or
  // with queries if there are no keys, so that few operations are left for each
  // pair.
  Part JoinAll(const Chain& chain, PartsByLevel groups) {
    auto& [constants, queries, keys, pairs] = groups;
    Parts& to = !keys.empty() ? keys : !queries.empty() ? queries : pairs;
    if (!constants.empty()) to.push_back(Join(chain, constants));
    if (!queries.empty()) pairs.push_back(Join(chain, queries));
    if (!keys.empty()) pairs.push_back(Join(chain, keys));
    return Join(chain, pairs);
  }

  PartsByLevel Split(const Parts& parts) const {
    PartsByLevel groups;
    for (const Part& part : parts) {
      groups[static_cast<size_t>(level(part.node))].push_back(part);
    }
    return groups;
  }

  // Returns the sum of `number` and `parts`, which must not contain numbers.
  int Sum(const Parts& parts, double number = 0) {
    PartsByLevel groups = Split(parts);
    if (number != 0 || parts.empty()) groups[0].push_back({Number(number)});
    const Part sum = JoinAll(kSums, std::move(groups));
    return sum.inverse ? Negate(sum.node) : sum.node;
  }

  // Returns the product of `factor` and `parts`, which must not contain
  // numbers.
  int Product(double factor, const Parts& parts) {
    PartsByLevel groups = Split(parts);
    auto& [constants, queries, keys, pairs] = groups;
    if (pairs.size() == 1 && !pairs[0].inverse) {
      const std::optional<int> scaled = ScaleInPlace(factor, groups);
      if (scaled.has_value()) return *scaled;
    }
    if (factor != 1 || parts.empty()) {
      Parts& to = !constants.empty() ? constants
                  : !keys.empty()    ? keys
                  : !queries.empty() ? queries
                                     : pairs;
      if (factor == -1 && !to.empty() && !to[0].inverse) {
        to[0].node = Negate(to[0].node);
      } else {
        to.push_back({Number(factor)});
      }
    }
    const Part product = JoinAll(kProducts, std::move(groups));
    return product.inverse ? Make(kDivide, {Number(1), product.node})
                           : product.node;
  }

  // Returns the product of `factor`, x and all parts in `lists`.
  int Scaled(int x, double factor, std::initializer_list<Parts> lists) {
    Parts parts = {{x}};
    for (const Parts& more : lists) {
      parts.insert(parts.end(), more.begin(), more.end());
    }
    return Product(factor, parts);
  }

  // Multiplies the only pair node of a product by all other parts. Scales
  // operands of the node if possible, which saves a multiplication for each
  // pair. Returns nullopt if no operand can be scaled.
  std::optional<int> ScaleInPlace(double factor, const PartsByLevel& groups) {
    const auto& [constants, queries, keys, pairs] = groups;
    // A copy, because adding a node to nodes_ would make a reference invalid.
    const FormulaNode pair = at(pairs[0].node);
    const bool scales = factor != 1 || !constants.empty();
    if (pair.op == kDistance && factor != 1) {
      const double all = factor * at(pair.operands[2]).number;
      const int scaled =
          Make(kDistance, {pair.operands[0], pair.operands[1], Number(all)});
      return Scaled(scaled, 1, {constants, queries, keys});
    }
    if (IsDifference(pairs[0].node) && queries.empty() && keys.empty() &&
        scales) {
      return OfEach(pairs[0].node,
                    [&](int x) { return Scaled(x, factor, {groups[0]}); });
    }
    for (const Parts* others : {&constants, &queries, &keys}) {
      for (const Part& part : *others) {
        if (at(part.node).width != kScalarWidth) return std::nullopt;
      }
    }
    if (pair.op == kInnerProducts) {
      const int a = Scaled(pair.operands[0], 1, {constants, queries});
      const int b = Scaled(pair.operands[1], 1, {keys});
      const double all = factor * at(pair.operands[2]).number;
      return Make(kInnerProducts, {a, b, Number(all)});
    }
    if (pair.op == kAdditive && scales) {
      const int c = Scaled(pair.operands[2], factor, {constants});
      const int scaled =
          Make(kAdditive, {pair.operands[0], pair.operands[1], c});
      return Scaled(scaled, 1, {queries, keys});
    }
    return std::nullopt;
  }

  // Applies f to both operands of a sum or difference, and adds or subtracts
  // the results.
  template <typename F>
  int OfEach(int sum, F f) {
    const FormulaNode of = at(sum);  // a copy, because nodes_ may grow
    const int a = f(of.operands[0]);
    const int b = f(of.operands[1]);
    return Sum({{a}, {b, of.op == kSubtract}});
  }

  // --- Comparisons of a query with a key.

  // Whether one node depends only on the query, and the other node only on the
  // key.
  bool AreQueryAndKey(int a, int b) const {
    return (level(a) == FormulaLevel::kQuery &&
            level(b) == FormulaLevel::kKey) ||
           (level(a) == FormulaLevel::kKey && level(b) == FormulaLevel::kQuery);
  }

  // Whether x is a sum or difference that depends on query and key, and both
  // operands have the width of x.
  bool IsSumOfPairs(int x) const {
    return level(x) == FormulaLevel::kPair &&
           (Is(x, kAdd) || Is(x, kSubtract)) &&
           at(at(x).operands[0]).width == at(x).width &&
           at(at(x).operands[1]).width == at(x).width;
  }

  // Whether x is a query vector plus or minus a key vector.
  bool IsDifference(int x) const {
    return IsSumOfPairs(x) && at(x).width != kScalarWidth &&
           AreQueryAndKey(at(x).operands[0], at(x).operands[1]);
  }

  // Turns a sum or difference of query and key into a node `op` with the
  // operands query, key and `third`. Negates the second operand of `difference`
  // if the operator of `difference` is `negated`.
  int Compare(FormulaOp op, int difference, FormulaOp negated, int third) {
    int a = at(difference).operands[0];
    int b = at(difference).operands[1];
    if (Is(difference, negated)) b = Negate(b);
    if (level(a) == FormulaLevel::kKey) std::swap(a, b);
    return Make(op, {a, b, third});
  }

  // Returns |x|^2, where x is a query vector plus or minus a key vector. The
  // sign of x has no effect.
  int Distance(int x) { return Compare(kDistance, x, kAdd, Number(1)); }

  // Makes a kProduct, kDot or kSum node. These operations are linear in their
  // last operand. If this operand is a sum or difference that depends on both
  // query and key, the operation is applied to each of its terms.
  int Linear(FormulaOp op, std::vector<int> x) {
    if (op == kSum) {
      const auto [of, operands] = std::pair(at(x[0]).op, at(x[0]).operands);
      if (of == kPower && at(operands[1]).number == 2 &&
          IsDifference(operands[0])) {
        return Distance(operands[0]);
      }
      if (of == kMultiply && AreQueryAndKey(operands[0], operands[1]) &&
          at(operands[0]).width == at(operands[1]).width) {
        return Linear(kDot, operands);
      }
    }
    if (op == kDot) {
      if (level(x[0]) > level(x[1])) std::swap(x[0], x[1]);
      const auto [a, b] = std::pair(x[0], x[1]);
      if (AreQueryAndKey(a, b)) return Make(kInnerProducts, {a, b, Number(1)});
      if (a == b && IsDifference(a)) return Distance(a);
      if (level(a) == FormulaLevel::kConstant && Is(b, kTanh) &&
          IsDifference(at(b).operands[0])) {
        return Compare(kAdditive, at(b).operands[0], kSubtract, a);
      }
    }
    if (IsSumOfPairs(x.back())) {
      return OfEach(x.back(), [&](int part) {
        x.back() = part;
        return Linear(op, x);
      });
    }
    return Make(op, x);
  }

  int Power(int x, int exponent) {
    if (at(exponent).number == 1) return x;
    if (at(exponent).number == 2 && Is(x, kRoot)) return at(x).operands[0];
    return Make(kPower, {x, exponent});
  }

  // --- The tree of the parser.

  int Lower(int n) {
    FormulaNode node = tree_[n];
    if (node.op == kAdd || node.op == kSubtract) return LowerChain(kSums, n);
    if (node.op == kMultiply || node.op == kDivide || node.op == kNegate) {
      return LowerChain(kProducts, n);
    }
    for (int& operand : node.operands) operand = Lower(operand);
    range_ = node.range;
    const std::vector<int>& x = node.operands;
    switch (node.op) {
      case kPower:
        return Power(x[0], x[1]);
      case kProduct:
      case kDot:
      case kSum:
        return Linear(node.op, x);
      case kNorm:
        return Make(kRoot, {Linear(kSum, {Power(x[0], Number(2))})});
      default:
        return x.empty() ? Intern(node) : Make(node.op, x);
    }
  }

  // Appends the parts of a chain of + and -, or of * and /, to `parts`.
  void Flatten(const Chain& chain, Part part, Parts* parts) const {
    const FormulaNode& node = tree_[part.node];
    if (node.op != chain.op && node.op != chain.inverse_op) {
      parts->push_back(part);
      return;
    }
    const bool turns = node.op == chain.inverse_op;
    Flatten(chain, {node.operands[0], part.inverse}, parts);
    Flatten(chain, {node.operands[1], part.inverse != turns}, parts);
  }

  int LowerChain(const Chain& chain, int n) {
    const bool is_product = chain.op == kMultiply;
    int number = Number(is_product ? 1 : 0);
    Parts written, parts;
    Flatten(chain, {n}, &written);
    for (Part part : written) {
      while (is_product && tree_[part.node].op == kNegate) {
        number = Make(kNegate, {number});
        part.node = tree_[part.node].operands[0];
      }
      part.node = Lower(part.node);
      range_ = tree_[n].range;
      if (!is_product && Is(part.node, kNegate)) {
        part = {at(part.node).operands[0], !part.inverse};
      }
      if (!Is(part.node, kNumber)) {
        parts.push_back(part);
        continue;
      }
      if (is_product && part.inverse && at(part.node).number == 0) {
        Fail("this divides by 0");
      }
      number =
          Make(part.inverse ? chain.inverse_op : chain.op, {number, part.node});
    }
    return is_product ? Product(at(number).number, parts)
                      : Sum(parts, at(number).number);
  }

  // Checks that a number of the final graph is in the range of float, because
  // models compute in float. -inf is allowed, because it masks a key.
  void CheckNumber(const FormulaNode& node) {
    range_ = node.range;
    const double size = std::abs(node.number);
    const bool is_mask = std::isinf(node.number) && node.number < 0;
    if (size > std::numeric_limits<float>::max() && !is_mask) {
      Fail("this number is too large");
    } else if (size > 0 && size < std::numeric_limits<float>::min()) {
      Fail("this number is too small: it would become 0");
    }
  }

  // --- The nodes that Prepare() stores.

  // Returns, for each node, whether it depends only on positions and numbers.
  std::vector<bool> AreOfPositions() const {
    std::vector<bool> are;
    for (const FormulaNode& node : nodes_) {
      const bool is_position =
          node.op == kQueryPosition || node.op == kKeyPosition;
      const bool has_such =
          std::all_of(node.operands.begin(), node.operands.end(),
                      [&](int x) { return are[x]; });
      are.push_back(node.operands.empty() ? is_position || node.op == kNumber
                                          : has_such);
    }
    return are;
  }

  // Decides which nodes Prepare() and Score() compute, and in which order.
  // Prepare() stores each key node that Score() reads, unless this node depends
  // only on positions.
  void Cut() {
    const std::vector<bool> are_of_positions = AreOfPositions();
    std::vector<bool> in_score(nodes_.size(), false);
    std::vector<bool> in_prepare(nodes_.size(), false);
    std::vector<bool> stored(nodes_.size(), false);
    in_score[formula_.root] = true;
    for (int n = static_cast<int>(nodes_.size()) - 1; n >= 0; --n) {
      if (in_score[n] && level(n) == FormulaLevel::kKey &&
          !are_of_positions[n]) {
        stored[n] = in_prepare[n] = true;
        in_score[n] = false;
      }
      for (const int operand : at(n).operands) {
        if (in_score[n]) in_score[operand] = true;
        if (in_prepare[n]) in_prepare[operand] = true;
      }
    }
    for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
      if (Is(n, kNumber)) {
        if (in_score[n] || in_prepare[n]) CheckNumber(at(n));
        continue;
      }
      if (in_score[n]) formula_.score_order.push_back(n);
      if (in_prepare[n]) formula_.prepare_order.push_back(n);
      if (stored[n]) formula_.prepared.push_back(n);
    }
  }

  const std::vector<FormulaNode> tree_;
  FormulaGraph& formula_;
  std::vector<FormulaNode>& nodes_;
  TextRange range_;    // range of the node being lowered
  Tape<double> tape_;  // computes constants
  std::optional<FormulaProblem> problem_;
};

}  // namespace

std::optional<FormulaProblem> CompileFormula(
    absl::string_view text, const FormulaWidths& widths,
    absl::Span<const FormulaParameterInfo> declared, FormulaGraph* formula) {
  auto problem = ParseFormula(text, formula);
  if (!problem.has_value()) {
    problem = InferFormulaTypes(widths, declared, formula);
  }
  return problem.has_value() ? problem : Lowering(formula).Run();
}

}  // namespace regard
