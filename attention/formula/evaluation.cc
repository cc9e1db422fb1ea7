#include "attention/formula/evaluation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/kernels/additive_scores.h"
#include "attention/kernels/distance_bias.h"
#include "attention/kernels/gaussian_scores.h"
#include "attention/scoring_kit.h"
#include "autodiff/ops/gather.h"

namespace regard {

namespace {

using enum FormulaOp;

Initializer FirstValues(const FormulaParameterInfo& parameter) {
  if (parameter.initial.has_value()) return Constant(*parameter.initial);
  if (parameter.table.has_value()) return Zeros();
  if (parameter.rows == kScalarWidth) return Constant(1);
  if (parameter.columns > 0) {
    return XavierUniform(parameter.rows, parameter.columns);
  }
  return parameter.is_term ? Zeros() : XavierUniform(1, parameter.rows);
}

}  // namespace

// The values of the nodes in one call, allocated on the tape. All values except
// matrices have the shape [batch, heads, queries, keys, width]. An axis that a
// value does not depend on has extent 1.
template <typename T>
class FormulaScorer<T>::Values {
 public:
  Values(const FormulaScorer& scorer, Forward<T>& forward,
         const ScoreInputs<T>& in)
      : scorer_(scorer),
        nodes_(scorer.formula_.nodes),
        forward_(forward),
        tape_(forward.tape()),
        in_(in),
        values_(tape_.arena().template New<Var<T>>(
            static_cast<int64_t>(nodes_.size()))) {}

  void Compute(absl::Span<const int> order) {
    for (const int n : order) {
      const NameScope<T> scope(tape_, scorer_.names_[n].c_str());
      values_[n] = Of(nodes_[n]);
    }
  }

  // Reads the values that Prepare() stored.
  void Restore() {
    const std::vector<int>& stored = scorer_.formula_.prepared;
    int64_t begin = 0;
    for (const int n : stored) {
      const int64_t width = std::max<int64_t>(nodes_[n].width, 1);
      values_[n] =
          Insert(stored.size() == 1 ? in_.keys
                                    : Slice(in_.keys, /*axis=*/3, begin, width),
                 /*axis=*/2);
      begin += width;
    }
  }

  // Returns the rows of a query node or key node, for all examples and heads:
  // [batch, heads, rows, width].
  Var<T> Rows(int node) const { return ForAll(WithRows(values_[node])); }

  // Returns the sum of scalar terms for `rows` queries or keys: [batch, heads,
  // rows, 1]. Returns an empty Var if there are no terms.
  Var<T> Total(absl::Span<const InnerProductDecomposition::Term> terms,
               int64_t rows) const {
    Var<T> sum;
    for (const InnerProductDecomposition::Term& term : terms) {
      const Var<T> x = term.negative ? -At(term.node) : At(term.node);
      sum = sum.has_value() ? sum + x : x;
    }
    if (!sum.has_value()) return sum;
    sum = WithRows(sum);
    return ForAll(BroadcastTo(sum, sum.shape().With(2, rows)));
  }

  Var<T> Scores(int root) const {
    const Var<T> x = At(root);
    const Var<T> scores = x.Reshape(x.shape().Remove(4));
    const Shape shape = ScoreShape(in_);
    return scores.shape() == shape ? scores : BroadcastTo(scores, shape);
  }

 private:
  // Inserts an axis of extent 1 at index `axis`.
  static Var<T> Insert(Var<T> x, int axis) {
    return x.Reshape(x.shape().Insert(axis, 1));
  }

  // Reshapes x [batch, heads, queries, keys, width] to [batch, heads,
  // queries * keys, width].
  static Var<T> WithRows(Var<T> x) {
    const Shape& s = x.shape();
    return x.Reshape({s[0], s[1], s[2] * s[3], s[4]});
  }

  // Broadcasts x over all examples and heads.
  Var<T> ForAll(Var<T> x) const {
    const Shape& keys = in_.keys.shape();
    if (x.dim(0) == keys[0] && x.dim(1) == keys[1]) return x;
    return BroadcastTo(x, x.shape().With(0, keys[0]).With(1, keys[1]));
  }

  // Returns the numbers first, first + step, ... in the given shape.
  Var<T> Sequence(const Shape& shape, int64_t first, int64_t step) const {
    const Var<T> numbers = tape_.Constant(shape);
    for (int64_t i = 0; i < numbers.size(); ++i) {
      numbers.data()[i] = static_cast<T>(first + i * step);
    }
    return numbers;
  }

  // Multiplies the vectors of x by a matrix [heads, out, in]. If x has only one
  // head, the matrix of each head multiplies this head.
  Var<T> Project(Var<T> x, Var<T> matrix) const {
    const Var<T> y = ProjectHeads(WithRows(x), matrix);
    return y.Reshape({y.dim(0), y.dim(1), x.dim(2), x.dim(3), matrix.dim(1)});
  }

  const TableRange& RangeOf(const FormulaNode& table) const {
    return *scorer_.formula_.parameters[table.parameter].table;
  }

  // Returns, for each pair, the element of a table [heads, indices] at the
  // index of the pair. For an index out of range, returns the element at the
  // nearest end.
  Var<T> Elements(Var<T> table, Var<T> index, const TableRange& range) const {
    const int64_t count = index.size();
    ScratchScope<T> scratch(tape_);
    auto* const ids = tape_.scratch().template New<int32_t>(count);
    const auto lowest = static_cast<T>(range.lowest);
    const auto highest = static_cast<T>(range.highest);
    for (int64_t i = 0; i < count; ++i) {
      ids[i] = static_cast<int32_t>(
          std::clamp(index.data()[i], lowest, highest) - lowest);
    }
    return GatherColumns(table, {ids, static_cast<size_t>(count)})
        .Reshape(index.shape().With(1, table.dim(0)));
  }

  bool IsNumber(int node) const { return nodes_[node].op == kNumber; }
  T Number(int node) const { return static_cast<T>(nodes_[node].number); }
  Var<T> At(int node) const {
    if (!IsNumber(node)) return values_[node];
    return tape_.Full({1, 1, 1, 1, 1}, Number(node));
  }

  Var<T> Of(const FormulaNode& node) const {
    const auto x = [&](size_t i) { return At(node.operands[i]); };
    const auto rows = [&](size_t i) { return Rows(node.operands[i]); };
    const auto number = [&](size_t i) { return Number(node.operands[i]); };
    const Positions& at = in_.positions;
    switch (node.op) {
      case kMatrix:
      case kTable:
        return forward_[scorer_.parameters_[node.parameter]];
      case kParameter: {
        const Var<T> value = forward_[scorer_.parameters_[node.parameter]];
        return value.Reshape(
            {1, value.dim(0), 1, 1, std::max<int64_t>(node.width, 1)});
      }
      case kQueries:
        return Insert(in_.queries, 3);
      case kKeys:
        return Insert(in_.keys, 2);
      // In Prepare(), in_.x is the input of the keys. Elsewhere, it is the
      // input of the queries.
      case kQueryInput:
        return in_.x.Reshape({in_.x.dim(0), 1, in_.x.dim(1), 1, in_.x.dim(2)});
      case kKeyInput:
        return in_.x.Reshape({in_.x.dim(0), 1, 1, in_.x.dim(1), in_.x.dim(2)});
      case kHead:
        return Sequence({1, in_.keys.dim(1), 1, 1, 1}, /*first=*/0, /*step=*/1);
      case kQueryPosition:
        return Sequence({1, 1, in_.queries.dim(2), 1, 1}, at.first_query,
                        at.query_step);
      case kKeyPosition:
        return Sequence({1, 1, 1, in_.keys.dim(2), 1}, at.first_key,
                        /*step=*/1);
      case kElement:
        return Elements(x(0), x(1), RangeOf(nodes_[node.operands[0]]));
      case kProduct:
        return Project(x(1), x(0));
      case kDot:
        // Inner products of a constant vector with the vectors of queries or
        // keys are computed by a matrix product.
        if (nodes_[node.operands[0]].level == FormulaLevel::kConstant &&
            node.level != FormulaLevel::kConstant) {
          const Var<T> a = x(0);
          return Project(x(1), a.Reshape({a.dim(1), 1, a.dim(4)}));
        }
        return Sum(x(0) * x(1), /*axis=*/-1, /*keep=*/true);
      case kSum:
        return Sum(x(0), /*axis=*/-1, /*keep=*/true);
      case kRoot:
        // If x is NaN, the condition of Where() is false, and the result is
        // NaN.
        return Where(std::numeric_limits<T>::min() - x(0), tape_.Full({}, T(0)),
                     Sqrt(x(0)));
      case kInnerProducts:
        return Insert(InnerProducts(Times(rows(0), number(2)), rows(1)), 4);
      case kAdditive: {
        const Var<T> v = x(2);
        return Insert(
            AdditiveScores(rows(0), rows(1), v.Reshape({v.dim(1), v.dim(4)}),
                           in_.mask, at),
            4);
      }
      case kDistance:
        return Insert(
            Times(GaussianScores(rows(0), rows(1), tape_.Full({1}, T(1))),
                  -2 * number(2)),
            4);
      default:
        return Elementwise(node);
    }
  }

  Var<T> Elementwise(const FormulaNode& node) const {
    const std::vector<int>& of = node.operands;
    // The scalar operators do not store an array of equal elements.
    if (node.op == kAdd && IsNumber(of[1])) return At(of[0]) + Number(of[1]);
    if (node.op == kMultiply && IsNumber(of[1])) {
      return At(of[0]) * Number(of[1]);
    }
    if (node.op == kSubtract && IsNumber(of[0])) {
      return Number(of[0]) - At(of[1]);
    }
    if (node.op == kDivide && IsNumber(of[0])) return Number(of[0]) / At(of[1]);
    Var<T> operands[4];
    for (size_t i = 0; i < of.size(); ++i) operands[i] = At(of[i]);
    return FormulaOpInfoFor<T>(node.op).value(operands);
  }

  static Var<T> Times(Var<T> x, T factor) {
    return factor == 1 ? x : x * factor;
  }

  const FormulaScorer& scorer_;
  const std::vector<FormulaNode>& nodes_;
  Forward<T>& forward_;
  Tape<T>& tape_;
  const ScoreInputs<T>& in_;
  Var<T>* const values_;
};

template <typename T>
FormulaScorer<T>::FormulaScorer(FormulaGraph formula, ParameterScope<T> scope,
                                int64_t heads)
    : formula_(std::move(formula)),
      inner_(DecomposeIntoInnerProduct(formula_)) {
  for (const FormulaParameterInfo& parameter : formula_.parameters) {
    const bool is_bias = parameter.is_term || parameter.table.has_value();
    parameters_.push_back(scope.Add(
        parameter.name, parameter.shape().Insert(0, heads),
        FirstValues(parameter),
        {.role = is_bias ? ParameterRole::kHeadBias : ParameterRole::kWeight}));
  }
  for (const FormulaNode& node : formula_.nodes) {
    names_.push_back(absl::StrCat("formula[", node.range.begin + 1, "] ",
                                  formula_.SourceText(node)));
  }
}

template <typename T>
Var<T> FormulaScorer<T>::Prepare(Forward<T>& forward,
                                 const PrepareInputs<T>& inputs) const {
  const std::vector<int>& stored = formula_.prepared;
  if (stored.empty()) return inputs.keys;
  ScoreInputs<T> in;
  in.keys = inputs.keys;
  in.x = inputs.x;
  in.positions.first_key = inputs.key_position;
  Tape<T>& tape = forward.tape();
  // Prepared values may be -inf, like scores.
  tape.NotifyBeginScores();
  Values values(*this, forward, in);
  values.Compute(formula_.prepare_order);
  auto* const parts =
      tape.arena().template New<Var<T>>(static_cast<int64_t>(stored.size()));
  for (size_t i = 0; i < stored.size(); ++i) parts[i] = values.Rows(stored[i]);
  const Var<T> prepared = stored.size() == 1
                              ? parts[0]
                              : Concat<T>({parts, stored.size()}, /*axis=*/3);
  tape.NotifyEndScores(prepared);
  return prepared;
}

template <typename T>
int64_t FormulaScorer<T>::WidthPerPair() const {
  int64_t widest = 1;
  for (const int n : formula_.score_order) {
    const FormulaNode& node = formula_.nodes[n];
    if (node.level == FormulaLevel::kPair) {
      widest = std::max(widest, node.width);
    }
  }
  return widest;
}

template <typename T>
Var<T> FormulaScorer<T>::Score(Forward<T>& forward,
                               const ScoreInputs<T>& in) const {
  Values values(*this, forward, in);
  values.Restore();
  values.Compute(formula_.score_order);
  return values.Scores(formula_.root);
}

template <typename T>
std::optional<InnerForm<T>> FormulaScorer<T>::Inner(
    Forward<T>& forward, const ScoreInputs<T>& in) const {
  if (!inner_.has_value()) return std::nullopt;
  const int64_t queries = in.queries.dim(2);
  const int64_t keys = in.keys.dim(2);
  Values values(*this, forward, in);
  values.Restore();
  values.Compute(inner_->order);
  const std::vector<int>& of = formula_.nodes[inner_->product.node].operands;
  const auto factor = static_cast<T>(formula_.nodes[of[2]].number);
  InnerForm<T> form = {values.Rows(of[0]), values.Rows(of[1]),
                       inner_->product.negative ? -factor : factor};
  form.query_bias = values.Total(inner_->of_query, queries);
  form.key_bias = values.Total(inner_->of_key, keys);
  if (inner_->of_distance.empty() || queries == 0) return form;
  // Evaluates the terms of the distance for one query at position 0 and one key
  // at each distance.
  const DistanceRange range = DistanceRange::Of(in.positions, queries, keys);
  ScoreInputs<T> distances;
  distances.queries = forward.tape().Constant({1, 1, 1, 1});
  distances.keys =
      forward.tape().Constant({1, in.queries.dim(1), range.count, 1});
  distances.positions.first_key = range.lowest;
  Values by_distance(*this, forward, distances);
  by_distance.Compute(inner_->distance_order);
  const Var<T> bias = by_distance.Total(inner_->of_distance, range.count);
  form.distance_bias = {bias.Reshape({bias.dim(1), range.count}), range.lowest};
  return form;
}

REGARD_INSTANTIATE_CLASS(FormulaScorer);

}  // namespace regard
