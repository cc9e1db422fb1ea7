#include "attention/formula/evaluation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "attention/formula/operations.h"
#include "attention/kernels/additive_scores.h"
#include "attention/kernels/gaussian_scores.h"
#include "attention/scoring_kit.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "files/config_text.h"
#include "nn/initializers.h"

namespace regard {

namespace {

Initializer FirstValues(const InferredParameter& parameter) {
  if (parameter.initial.has_value()) return Constant(*parameter.initial);
  if (parameter.rows == kScalarWidth) return Constant(1);
  if (parameter.columns > 0) {
    return XavierUniform(parameter.rows, parameter.columns);
  }
  return parameter.is_term ? Zeros() : XavierUniform(1, parameter.rows);
}

}  // namespace

// The values of one call by their terms, as
//   constants: [heads, 1, width]
//   of queries and keys: [batch, heads, queries or keys, width]
//   of pairs: [batch, heads, queries, keys, width]
// where scalars have width 1, those of pairs no last axis, and batch and heads
// are 1 if only positions matter. They are on the tape's arena.
template <typename T>
class FormulaScorer<T>::Values {
 public:
  Values(const FormulaScorer& scorer, Forward<T>& forward,
         const ScoreInputs<T>& in)
      : scorer_(scorer),
        terms_(scorer.program_.terms),
        forward_(forward),
        tape_(forward.tape()),
        in_(in),
        values_(tape_.arena().template New<Var<T>>(
            static_cast<int64_t>(terms_.size()))) {}

  void Compute(absl::Span<const int> order) {
    for (const int term : order) {
      if (terms_[term].op == TermOp::kNumber) continue;
      const NameScope<T> scope(tape_, scorer_.names_[term].c_str());
      values_[term] = Of(terms_[term]);
    }
  }

  Var<T>& operator[](int term) { return values_[term]; }

  // Of queries or keys, for all examples and heads.
  Var<T> Rows(int term) const {
    const Var<T> x = values_[term];
    const Shape& keys = in_.keys.shape();
    if (x.dim(0) == keys[0] && x.dim(1) == keys[1]) return x;
    return BroadcastTo(x, x.shape().With(0, keys[0]).With(1, keys[1]));
  }

  Var<T> Scores(int root) {
    const Shape shape = ScoreShape(in_);
    const FormulaTerm& term = terms_[root];
    if (term.op == TermOp::kNumber) return tape_.Full(shape, T(term.number));
    const Var<T> scores = Aligned(root, TermLevel::kPair, kScalarWidth);
    return scores.shape() == shape ? scores : BroadcastTo(scores, shape);
  }

 private:
  // A column of positions, [1, 1, rows, 1].
  Var<T> Column(int64_t rows, int64_t first, int64_t step) const {
    const Var<T> column = tape_.Constant({1, 1, rows, 1});
    for (int64_t i = 0; i < rows; ++i) {
      column.data()[i] = static_cast<T>(first + i * step);
    }
    return column;
  }

  // The parameter with an axis of rows.
  Var<T> OfParameter(size_t index) const {
    const Var<T> value = forward_[scorer_.parameters_[index]];
    const InferredParameter& parameter = scorer_.program_.parameters[index];
    if (parameter.columns > 0) return value;
    return value.WithShape(
        {value.dim(0), 1, std::max<int64_t>(parameter.rows, 1)});
  }

  // An operand in a form that broadcasts to a result of that level and width.
  Var<T> Aligned(int operand, TermLevel level, int64_t width) const {
    const FormulaTerm& term = terms_[operand];
    if (term.op == TermOp::kNumber) return tape_.Full({}, T(term.number));
    const Var<T> x = values_[operand];
    if (level != TermLevel::kPair) return x;
    const Shape& s = x.shape();
    const bool vector = width != kScalarWidth;
    switch (term.level) {
      case TermLevel::kConstant:
        return vector ? x.WithShape({s[0], 1, 1, s[2]}) : x;
      case TermLevel::kQuery:
        return vector ? x.WithShape({s[0], s[1], s[2], 1, s[3]}) : x;
      case TermLevel::kKey:
        return vector ? x.WithShape({s[0], s[1], 1, s[2], s[3]})
                      : x.WithShape({s[0], s[1], 1, s[2]});
      case TermLevel::kPair:
        break;
    }
    return vector && term.width == kScalarWidth
               ? x.WithShape({s[0], s[1], s[2], s[3], 1})
               : x;
  }

  // x [.., in] times a matrix [heads, out, in] from the right.
  Var<T> Project(Var<T> x, Var<T> matrix) const {
    const Shape& s = x.shape();
    if (s.rank() < 5) return ProjectHeads(x, matrix);
    return ProjectHeads(x.WithShape({s[0], s[1], s[2] * s[3], s[4]}), matrix)
        .WithShape(s.With(4, matrix.dim(1)));
  }

  // Sums over the last axis; those of pairs lose it.
  Var<T> Scalars(Var<T> x) const {
    return Sum(x, /*axis=*/-1, /*keep=*/x.shape().rank() < 5);
  }

  Var<T> Dot(const FormulaTerm& term) const {
    const int a = term.operands[0];
    const int b = term.operands[1];
    if (terms_[a].level == TermLevel::kConstant &&
        term.level != TermLevel::kConstant) {
      const Var<T> dots = Project(values_[b], values_[a]);
      if (dots.shape().rank() < 5) return dots;
      const Shape& s = dots.shape();
      return dots.WithShape({s[0], s[1], s[2], s[3]});
    }
    const int64_t width = terms_[a].width;
    return Scalars(Aligned(a, term.level, width) *
                   Aligned(b, term.level, width));
  }

  Var<T> Operation(const FormulaTerm& term) const {
    const auto operand = [&](size_t i) {
      return Aligned(term.operands[i], term.level, term.width);
    };
    switch (term.operation) {
      case FormulaOp::kProduct:
        return Project(values_[term.operands[1]], values_[term.operands[0]]);
      case FormulaOp::kDot:
        return Dot(term);
      case FormulaOp::kSum:
        return Scalars(values_[term.operands[0]]);
      default:
        break;
    }
    if (term.operands.size() == 2) {
      const FormulaTerm& a = terms_[term.operands[0]];
      const FormulaTerm& b = terms_[term.operands[1]];
      // A number needs no array.
      if (b.op == TermOp::kNumber && term.operation == FormulaOp::kAdd) {
        return operand(0) + static_cast<T>(b.number);
      }
      if (b.op == TermOp::kNumber && term.operation == FormulaOp::kMultiply) {
        return operand(0) * static_cast<T>(b.number);
      }
      if (a.op == TermOp::kNumber && term.operation == FormulaOp::kSubtract) {
        return static_cast<T>(a.number) - operand(1);
      }
      if (a.op == TermOp::kNumber && term.operation == FormulaOp::kDivide) {
        return static_cast<T>(a.number) / operand(1);
      }
    }
    Var<T> operands[4];
    for (size_t i = 0; i < term.operands.size(); ++i) operands[i] = operand(i);
    return Elementwise<T>(term.operation, term.number,
                          {operands, term.operands.size()});
  }

  Var<T> Of(const FormulaTerm& term) const {
    const auto times = [](Var<T> x, double factor) {
      return factor == 1 ? x : x * static_cast<T>(factor);
    };
    const Positions& at = in_.positions;
    switch (term.op) {
      case TermOp::kParameter:
        return OfParameter(static_cast<size_t>(term.number));
      case TermOp::kQueries:
        return in_.queries;
      case TermOp::kKeys:
        return in_.keys;
      case TermOp::kQueryPosition:
        return Column(in_.queries.dim(2), at.first_query, at.query_step);
      case TermOp::kKeyPosition:
        return Column(in_.keys.dim(2), at.first_key, /*step=*/1);
      case TermOp::kRoot: {
        const Var<T> x = values_[term.operands[0]];
        return Where(x, Sqrt(x), tape_.Full({}, T(0)));
      }
      case TermOp::kInnerProducts:
        return InnerProducts(times(Rows(term.operands[0]), term.number),
                             Rows(term.operands[1]));
      case TermOp::kAdditive: {
        const Var<T> v = values_[term.operands[2]];
        return AdditiveScores(Rows(term.operands[0]), Rows(term.operands[1]),
                              v.WithShape({v.dim(0), v.dim(2)}), in_.mask, at);
      }
      case TermOp::kDistance:
        return times(
            GaussianScores(Rows(term.operands[0]), Rows(term.operands[1]),
                           tape_.Full({1}, T(1))),
            -2 * term.number);
      default:
        return Operation(term);
    }
  }

  const FormulaScorer& scorer_;
  const std::vector<FormulaTerm>& terms_;
  Forward<T>& forward_;
  Tape<T>& tape_;
  const ScoreInputs<T>& in_;
  Var<T>* const values_;
};

template <typename T>
FormulaScorer<T>::FormulaScorer(FormulaProgram program, ParameterScope<T> scope,
                                int64_t heads)
    : program_(std::move(program)) {
  for (const InferredParameter& parameter : program_.parameters) {
    Shape shape = {heads};
    if (parameter.rows > 0) shape = {heads, parameter.rows};
    if (parameter.columns > 0) {
      shape = {heads, parameter.rows, parameter.columns};
    }
    parameters_.push_back(
        scope.Add(parameter.name, shape, FirstValues(parameter)));
  }
  for (const FormulaTerm& term : program_.terms) {
    names_.push_back(absl::StrCat(
        "formula[", term.range.begin + 1, "] ",
        Printable(absl::string_view(program_.text)
                      .substr(term.range.begin, term.range.length))));
  }
}

template <typename T>
Var<T> FormulaScorer<T>::Prepare(Forward<T>& forward, Var<T> keys,
                                 int64_t key_position) const {
  const std::vector<int>& stored = program_.prepared;
  if (stored.empty()) return keys;
  ScoreInputs<T> in;
  in.keys = keys;
  in.positions.first_key = key_position;
  Tape<T>& tape = forward.tape();
  // -inf is legal here as in the scores that it becomes.
  tape.BeginScores();
  Values values(*this, forward, in);
  values.Compute(program_.prepare_order);
  Var<T> prepared = values.Rows(stored[0]);
  if (stored.size() > 1) {
    auto* const parts =
        tape.arena().template New<Var<T>>(static_cast<int64_t>(stored.size()));
    for (size_t i = 0; i < stored.size(); ++i) {
      parts[i] = values.Rows(stored[i]);
    }
    prepared = Concat<T>({parts, stored.size()}, /*axis=*/3);
  }
  tape.EndScores(prepared);
  return prepared;
}

template <typename T>
Var<T> FormulaScorer<T>::Score(Forward<T>& forward,
                               const ScoreInputs<T>& in) const {
  Values values(*this, forward, in);
  Restore(in.keys, &values);
  values.Compute(program_.score_order);
  return values.Scores(program_.root);
}

template <typename T>
typename FormulaScorer<T>::InnerProduct FormulaScorer<T>::AsInnerProduct(
    Forward<T>& forward, const ScoreInputs<T>& in) const {
  const FormulaTerm& root = program_.terms[program_.root];
  if (root.op != TermOp::kInnerProducts) return {};
  Values values(*this, forward, in);
  Restore(in.keys, &values);
  // The root is the last term.
  values.Compute(
      {program_.score_order.data(), program_.score_order.size() - 1});
  return {values.Rows(root.operands[0]), values.Rows(root.operands[1]),
          static_cast<T>(root.number)};
}

// What Prepare() stored, as values of its terms.
template <typename T>
void FormulaScorer<T>::Restore(Var<T> prepared, Values* values) const {
  const std::vector<int>& stored = program_.prepared;
  int64_t begin = 0;
  for (const int term : stored) {
    const int64_t width = std::max<int64_t>(program_.terms[term].width, 1);
    (*values)[term] = stored.size() == 1
                          ? prepared
                          : Slice(prepared, /*axis=*/3, begin, width);
    begin += width;
  }
}

REGARD_INSTANTIATE_CLASS(FormulaScorer);

}  // namespace regard
