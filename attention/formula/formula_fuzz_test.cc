// Tests random strings, damaged formulas and random trees. The compiler must
// either reject a formula with the position of a problem, or accept it. The
// scores and gradients of an accepted formula must have the right shapes. The
// scores of some queries and keys must equal the corresponding elements of the
// scores of all queries and keys.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "attention/formula/compiler.h"
#include "attention/formula/evaluation.h"
#include "attention/formula/node.h"
#include "attention/scoring_function.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "gtest/gtest.h"
#include "nn/forward.h"
#include "nn/parameters.h"

namespace regard {
namespace {

constexpr const char* kFormulas[] = {
    "(W q) . k / sqrt(d)",
    "v . tanh(W q + U k + b) - softplus(c) * abs(i - j)",
    "-norm(w * (q - k))^2 / 2",
    "where(norm(q - k) < 1.5, 0, log(0))",
    "s * q . k / (norm(q) * norm(k)) + min(a, b * j) - max(u . k, 1e-3)",
    "sum(relu(W q - U (k + c)) * g) * cos(p * i) + exp(-sigmoid(q . W k))",
    "q . k / sqrt(d) + t[i - j] * s - t[min(abs(i - j), 3)]",
    "(A x_i) . (B x_j) - head * abs(i - j) / heads + t[j] * sum(W x_i)",
};

constexpr const char* kTokens[] = {
    "q",    "k",    "i",    "j",     "d",     "dq",   "dk",     "W",    "U",
    "v",    "b",    "2",    "0.5",   "1e-3",  "+",    "-",      "*",    "/",
    "^",    ".",    "(",    ")",     ",",     "<",    " ",      " ",    "tanh(",
    "exp(", "log(", "sum(", "norm(", "sqrt(", "min(", "where(", "abs(", "\t",
    "\xC3", "t[",   "[",    "]",     "x_i",   "x_j",  "head"};

// Random numbers from the high bits of Knuth's MMIX generator.
class Numbers {
 public:
  uint32_t UniformInt(uint32_t limit) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>(state_ >> 33) % limit;
  }
  template <typename T, size_t kSize>
  T OneOf(T const (&all)[kSize]) {
    return all[UniformInt(kSize)];
  }

 private:
  uint64_t state_ = 20260101;
};

std::string RandomTokens(Numbers* numbers) {
  std::string text;
  for (uint32_t n = numbers->UniformInt(20) + 1; n > 0; --n) {
    absl::StrAppend(&text, numbers->OneOf(kTokens),
                    numbers->UniformInt(2) == 0 ? " " : "");
  }
  return text;
}

std::string Damaged(Numbers* numbers) {
  std::string text = numbers->OneOf(kFormulas);
  for (uint32_t n = numbers->UniformInt(3) + 1; n > 0; --n) {
    const size_t at =
        numbers->UniformInt(static_cast<uint32_t>(text.size()) + 1);
    if (numbers->UniformInt(2) == 0) text.erase(at, numbers->UniformInt(4));
    if (numbers->UniformInt(2) == 0) {
      text.insert(std::min(at, text.size()), numbers->OneOf(kTokens));
    }
  }
  return text;
}

// Returns an index expression, valid or almost valid.
std::string RandomIndex(Numbers* numbers, int depth) {
  const auto index = [&] { return RandomIndex(numbers, depth - 1); };
  if (depth == 0) return numbers->OneOf({"i", "j", "i", "j", "2", "70000"});
  switch (numbers->UniformInt(6)) {
    case 0:
      return absl::StrCat("abs(", index(), ")");
    case 1:
      return absl::StrCat("min(", index(), ", ", index(), ")");
    case 2:
      return absl::StrCat("where(", index(), " < ", index(), ", ", index(),
                          ", ", index(), ")");
    default:
      return absl::StrCat(index(), numbers->OneOf({" + ", " - "}), index());
  }
}

std::string RandomTree(Numbers* numbers, int depth, bool is_vector) {
  const auto scalar = [&] { return RandomTree(numbers, depth - 1, false); };
  const auto vector = [&] { return RandomTree(numbers, depth - 1, true); };
  if (depth == 0 && is_vector) {
    return numbers->OneOf({"q", "k", "q", "k", "c", "x_i", "x_j"});
  }
  if (depth == 0 && numbers->UniformInt(4) == 0) {
    return absl::StrCat("t[", RandomIndex(numbers, numbers->UniformInt(3)),
                        "]");
  }
  if (depth == 0) {
    return numbers->OneOf({"i", "j", "2", "0.5", "s", "d", "head", "heads"});
  }
  constexpr const char* kUnary[] = {"tanh", "sigmoid", "relu", "softplus",
                                    "exp",  "abs",     "cos",  "sin",
                                    "sqrt", "log",     "-"};
  constexpr const char* kBinary[] = {" + ", " - ", " * ", " / "};
  const auto any = [&] {
    return RandomTree(numbers, depth - 1,
                      is_vector && numbers->UniformInt(3) > 0);
  };
  const auto same = [&] { return is_vector ? vector() : scalar(); };
  switch (numbers->UniformInt(is_vector ? 5 : 8)) {
    case 0:
      return absl::StrCat(numbers->OneOf(kUnary), "(", same(), ")");
    case 1:
      return absl::StrCat("(", same(), ")^", numbers->OneOf({"2", "3", "0.5"}));
    case 2:
      return absl::StrCat("where(", any(), " < ", any(), ", ", same(), ", ",
                          any(), ")");
    case 3:
      if (is_vector) {
        return absl::StrCat(numbers->OneOf({"A", "B"}), " (", vector(), ")");
      }
      return absl::StrCat("(", vector(), ") . (", vector(), ")");
    case 4:
      return absl::StrCat("(", same(), ")", numbers->OneOf(kBinary), "(", any(),
                          ")");
    case 5:
      return absl::StrCat("norm(", vector(), ")");
    case 6:
      return absl::StrCat("sum(", vector(), ")");
    default:
      return absl::StrCat(numbers->OneOf({"min", "max"}), "(", scalar(), ", ",
                          scalar(), ")");
  }
}

constexpr int64_t kQueries = 3;
constexpr int64_t kKeys = 4;
constexpr int64_t kWidth = 3;
constexpr int64_t kKeyInput = 2;

Var<float> Input(Tape<float>& tape, const Shape& shape, float step) {
  const Var<float> x = tape.Input(shape, std::vector<float>(shape.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = step * static_cast<float>((7 * i) % 11 - 5);
  }
  return x;
}

void ExpectScores(const std::string& text, FormulaGraph graph) {
  ParameterStore<float> store;
  const FormulaScorer<float> scorer(std::move(graph), store.Root(),
                                    /*heads=*/2);
  store.Finalize(1);
  GradientSlab<float> gradients(store);
  Tape<float> tape;
  Forward<float> forward(tape, store, &gradients);
  forward.BeginStep();
  const Var<float> keys = Input(tape, {2, 2, kKeys, kWidth}, 0.25F);
  const Var<float> key_x = Input(tape, {2, kKeys, kKeyInput}, -0.25F);
  ScoreInputs<float> in;
  in.queries = Input(tape, {2, 2, kQueries, kWidth}, 0.125F);
  in.x = Input(tape, {2, kQueries, kWidth}, -0.125F);
  in.keys =
      scorer.Prepare(forward, {.keys = keys, .key_position = 5, .x = key_x});
  in.positions = {.first_query = 7, .query_step = 1, .first_key = 5};
  const Var<float> all = scorer.Score(forward, in);
  ASSERT_EQ(all.shape(), Shape({2, 2, kQueries, kKeys})) << text;
  ScoreInputs<float> some;
  some.queries = Slice(in.queries, /*axis=*/2, 1, 2);
  some.x = Slice(in.x, /*axis=*/1, 1, 2);
  some.keys = scorer.Prepare(forward, {.keys = Slice(keys, /*axis=*/2, 2, 2),
                                       .key_position = 7,
                                       .x = Slice(key_x, /*axis=*/1, 2, 2)});
  some.positions = {.first_query = 8, .query_step = 1, .first_key = 7};
  const Var<float> part = scorer.Score(forward, some);
  ASSERT_EQ(part.shape(), Shape({2, 2, 2, 2})) << text;
  const Var<float> expected =
      Slice(Slice(all, /*axis=*/2, 1, 2), /*axis=*/3, 2, 2);
  for (int64_t i = 0; i < part.size(); ++i) {
    const float a = part.data()[i];
    const float b = expected.data()[i];
    ASSERT_TRUE(a == b || (a != a && b != b)) << text << ": " << a << ", " << b;
  }
  forward.Backward({Sum(all)}, {1.0});
}

TEST(FormulaFuzzTest, NothingCrashesAndEveryProblemHasALocation) {
  const char* const given = std::getenv("FORMULAS");
  const int trials = given == nullptr ? 20000 : std::atoi(given);
  Numbers numbers;
  int read = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const uint32_t kind = numbers.UniformInt(3);
    const std::string text =
        kind == 0   ? RandomTokens(&numbers)
        : kind == 1 ? Damaged(&numbers)
                    : RandomTree(&numbers, numbers.UniformInt(4) + 1, false);
    FormulaGraph graph;
    std::vector<FormulaParameterInfo> declared;
    if (text.find("t[") != std::string::npos) {
      declared.push_back({.name = "t", .table = TableRange{-1, 2}});
    }
    const std::optional<FormulaProblem> problem =
        CompileFormula(text,
                       {.query = kWidth,
                        .key = kWidth,
                        .free = 2,
                        .query_input = kWidth,
                        .key_input = kKeyInput,
                        .heads = 2},
                       declared, &graph);
    if (problem.has_value()) {
      ASSERT_NE(problem->message, "") << text;
      if (problem->declared == 0 && !declared.empty()) continue;
      ASSERT_LE(problem->range.begin, text.size()) << text;
      ASSERT_GT(problem->range.length, 0u) << text;
      continue;
    }
    ++read;
    ExpectScores(text, std::move(graph));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(read, trials / 5);
  EXPECT_LT(read, trials);
}

}  // namespace
}  // namespace regard
