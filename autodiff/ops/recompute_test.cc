#include "autodiff/ops/recompute.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/fault_finder.h"
#include "autodiff/ops/dropout.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

// A function of several operations, including dropout.
struct Block {
  template <typename T>
  Var<T> operator()(absl::Span<const Var<T>> in) const {
    NameScope<T> scope(in[0].tape(), "block");
    return Tanh(Dropout(Linear(in[0], in[1], {}), 0.3, "site") * in[0]);
  }
};

struct Nested {
  template <typename T>
  Var<T> operator()(absl::Span<const Var<T>> in) const {
    const Var<T> first = Recompute(in[0].tape(), in, Block());
    const Var<T> inputs[] = {first, in[1]};
    return Recompute(in[0].tape(), absl::MakeConstSpan(inputs), Block());
  }
};

// Computes y [2, 2, rows, 3] from x of the same shape: a matrix product, then
// dropout.
struct Rows {
  template <typename T>
  Var<T> operator()(absl::Span<const Var<T>> in, const RowBlock& block) const {
    const Var<T> x =
        Slice(Slice(in[0], 0, block.example, 1), 2, block.first, block.count);
    return Tanh(Dropout(MatMul(x, in[1]), 0.3, "site", block.first) * x);
  }
};

template <typename T>
Var<T> ByRows(Tape<T>& tape, absl::Span<const Var<T>> in, int64_t most) {
  tape.set_training(true);
  return RecomputeRows(tape, in, in[0].shape(), most, Rows());
}

// Computes y = x W + state for some rows of x [2, time, 3]. The next state,
// [2, 1, 3], is tanh(state W + sum of the rows of x). A missing state means 0.
struct Link {
  template <typename T>
  RowsAndState<T> operator()(absl::Span<const Var<T>> in, Var<T> state,
                             int64_t first, int64_t count) const {
    const Var<T> x = Slice(in[0], 1, first, count);
    if (!state.has_value()) state = x.tape().Full({2, 1, 3}, T(0));
    return {MatMul(x, in[1]) + state,
            Tanh(MatMul(state, in[1]) + Sum(x, 1, /*keep=*/true))};
  }
};

// Returns the concatenation of rows and state. If `parts` is 1, returns only
// the rows. If `parts` is 2, returns only the state.
template <typename T>
Var<T> PartsOf(const RowsAndState<T>& link, int parts) {
  if (parts == 1) return link.rows;
  if (parts == 2) return link.state;
  return Concat<T>({link.rows, link.state}, 1);
}

// `in` contains x, W and possibly a state.
template <typename T>
RowsAndState<T> Chained(Tape<T>& tape, absl::Span<const Var<T>> in,
                        int64_t most) {
  return RecomputeChain(tape, in.first(2), in.size() > 2 ? in[2] : Var<T>(),
                        in[0].shape(), most, Link());
}

std::vector<TestInputSpec> ChainInputs(bool state) {
  std::vector<TestInputSpec> inputs = {{{2, 5, 3}}, {{3, 3}}};
  if (state) inputs.push_back({{2, 1, 3}});
  return inputs;
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  for (const int64_t most : {1, 2, 9}) {
    cases.push_back(
        MakeCase("RecomputeRows", "blocks", {{{2, 2, 5, 3}}, {{3, 3}}},
                 [=](auto& tape, auto in) { return ByRows(tape, in, most); }));
  }
  cases.push_back(MakeCase("Recompute", "one block", {{{3, 5}}, {{5, 5}}},
                           [](auto& tape, auto in) {
                             tape.set_training(true);
                             return Recompute(tape, in, Block());
                           }));
  cases.push_back(MakeCase("Recompute", "nested", {{{3, 5}}, {{5, 5}}},
                           [](auto& tape, auto in) {
                             tape.set_training(true);
                             return Recompute(tape, in, Nested());
                           }));
  for (const int64_t most : {1, 2, 9}) {
    for (const int parts : {1, 2, 3}) {
      for (const bool state : {false, true}) {
        cases.push_back(MakeCase("RecomputeChain", "blocks", ChainInputs(state),
                                 [=](auto& tape, auto in) {
                                   return PartsOf(Chained(tape, in, most),
                                                  parts);
                                 }));
      }
    }
  }
  return cases;
}

TEST(RecomputeTest, Gradients) { CheckGradients(Cases()); }

TEST(RecomputeTest, AgreesWithTheFunctionItself) {
  CheckAgainstReference(MakeFusedKernelCase(
      "Recompute", {{{3, 5}}, {{5, 5}}},
      [](auto& tape, auto in) {
        tape.set_training(true);
        return Recompute(tape, in, Nested());
      },
      [](auto& tape, auto in) {
        tape.set_training(true);
        return Nested()(in);
      }));
}

TEST(RecomputeTest, AChainEqualsItsLinksInSequence) {
  for (const bool state : {false, true}) {
    CheckAgainstReference(MakeFusedKernelCase(
        "RecomputeChain", ChainInputs(state),
        [](auto& tape, auto in) { return PartsOf(Chained(tape, in, 2), 3); },
        []<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
          std::vector<Var<T>> all;
          Var<T> state = in.size() > 2 ? in[2] : Var<T>();
          for (const auto& [first, count] : {std::pair(0, 2), {2, 2}, {4, 1}}) {
            const RowsAndState<T> link =
                Link()(in.first(2), state, int64_t{first}, int64_t{count});
            all.push_back(link.rows);
            state = link.state;
          }
          all.push_back(state);
          return Concat<T>(all, 1);
        }));
  }
}

TEST(RecomputeTest, AChainKeepsOnlyRowsAndStates) {
  const auto bytes = [](int64_t time) {
    Tape<double> tape;
    const Var<double> in[] = {
        tape.Input({2, time, 3}, std::vector<double>(6 * time, 0.1)),
        tape.Input({3, 3}, std::vector<double>(9, 0.1))};
    const size_t before = tape.records();
    const auto link = Chained<double>(tape, in, 4);
    EXPECT_EQ(tape.records(), before + 1);
    tape.Backward(Sum(link.rows) + Sum(link.state));
    return tape.high_water_bytes();
  };
  EXPECT_LT(static_cast<double>(bytes(40000)),
            2.05 * static_cast<double>(bytes(20000)));
  Tape<double> tape;
  const Var<double> constants[] = {tape.Full({2, 5, 3}, 1),
                                   tape.Full({3, 3}, 1)};
  EXPECT_FALSE(Chained<double>(tape, constants, 2).rows.needs_grad());
  tape.set_recording(false);
  const Var<double> leaves[] = {
      tape.Input({2, 5, 3}, std::vector<double>(30, 1)),
      tape.Input({3, 3}, std::vector<double>(9, 1))};
  EXPECT_FALSE(Chained<double>(tape, leaves, 2).rows.needs_grad());
}

TEST(RecomputeTest, AChainOfNoRowsLeavesItsState) {
  Tape<double> tape;
  const Var<double> in[] = {tape.Constant({2, 0, 3}), tape.Full({3, 3}, 1),
                            tape.Full({2, 1, 3}, 7)};
  const auto link = Chained<double>(tape, in, 4);
  EXPECT_EQ(link.rows.size(), 0);
  EXPECT_EQ(link.state.data()[5], 7);
}

// Blocks of all sizes must give bit-identical gradients: they are computed in
// ascending order, and products are cut at 256 rows.
TEST(RecomputeTest, BlocksOfAnySizeHaveTheSameGradients) {
  const auto gradient_of_weight = [](int64_t most) {
    Tape<double> tape;
    std::vector<double> x(2 * 2 * 520 * 3);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(1.0 + i);
    const Var<double> in[] = {tape.Input({2, 2, 520, 3}, x),
                              tape.Input({3, 3}, std::vector<double>(9, 0.5))};
    tape.Backward(Sum(ByRows(tape, absl::MakeConstSpan(in), most)));
    const double* const d = in[1].grad_data();
    return std::vector<double>(d, d + 9);
  };
  const std::vector<double> expected = gradient_of_weight(256);
  const std::vector<double> got = gradient_of_weight(8);
  for (size_t i = 0; i < 9; ++i) EXPECT_NEAR(got[i], expected[i], 1e-10);
}

// If no gradient is needed, no record must be made.
TEST(RecomputeTest, BlocksNeedAGradientIfTheirFunctionDoes) {
  Tape<double> tape;
  const Var<double> constants[] = {tape.Full({1, 1, 4, 3}, 1),
                                   tape.Full({3, 3}, 1)};
  EXPECT_FALSE(ByRows(tape, absl::MakeConstSpan(constants), 2).needs_grad());
  const Var<double> inputs[] = {constants[0],
                                tape.Input({3, 3}, std::vector<double>(9, 1))};
  const size_t before = tape.records();
  EXPECT_TRUE(ByRows(tape, absl::MakeConstSpan(inputs), 2).needs_grad());
  EXPECT_EQ(tape.records(), before + 1);
}

TEST(RecomputeTest, NeedsAGradientIfItsFunctionDoes) {
  Tape<double> tape;
  const Var<double> constants[] = {tape.Full({1, 3}, 1), tape.Full({3, 3}, 1)};
  EXPECT_FALSE(
      Recompute(tape, absl::MakeConstSpan(constants), Block()).needs_grad());
  EXPECT_FALSE(
      Recompute(tape, absl::MakeConstSpan(constants), Nested()).needs_grad());
  EXPECT_EQ(tape.records(), 0);
  // `weight` is a leaf that is not among the inputs.
  const Var<double> weight = tape.Input({3, 3}, std::vector<double>(9, 1));
  const auto product = [=](absl::Span<const Var<double>> in) {
    return MatMul(in[0], weight);
  };
  const auto nested = [=, &tape](absl::Span<const Var<double>> in) {
    return Recompute(tape, in, product);
  };
  const auto itself = [=](absl::Span<const Var<double>>) { return weight; };
  EXPECT_TRUE(
      Recompute(tape, absl::MakeConstSpan(constants), product).needs_grad());
  EXPECT_TRUE(
      Recompute(tape, absl::MakeConstSpan(constants), itself).needs_grad());
  const Var<double> y = Recompute(tape, absl::MakeConstSpan(constants), nested);
  tape.Backward(Sum(y));
  EXPECT_EQ(weight.grad_data()[0], 1);
  tape.set_recording(false);
  EXPECT_FALSE(
      Recompute(tape, absl::MakeConstSpan(constants), product).needs_grad());
}

TEST(RecomputeDeathTest, BlocksHaveRowsAndTheirShape) {
  Tape<double> tape;
  const Var<double> in[] = {tape.Full({1, 1, 4, 3}, 1), tape.Full({3, 3}, 1)};
  const auto inputs = absl::MakeConstSpan(in);
  EXPECT_DEATH(ByRows(tape, inputs, 0), "rows per block of RecomputeRows");
  EXPECT_DEATH(ByRows(tape, inputs, -1), "rows per block of RecomputeRows");
  const auto narrow = [](absl::Span<const Var<double>> in, const RowBlock&) {
    return Slice(in[0], 3, 0, 2);
  };
  EXPECT_DEATH(RecomputeRows(tape, inputs, in[0].shape(), 4, narrow),
               "a block of RecomputeRows to \\[1, 1, 4, 3\\]");
  EXPECT_DEATH(RecomputeRows(tape, inputs, {4, 3}, 4, narrow),
               "RecomputeRows to \\[4, 3\\]");
}

TEST(RecomputeDeathTest, LinksHaveRowsAndTheirShapes) {
  Tape<double> tape;
  const Var<double> in[] = {tape.Full({2, 5, 3}, 1), tape.Full({3, 3}, 1)};
  const auto inputs = absl::MakeConstSpan(in);
  EXPECT_DEATH(Chained(tape, inputs, 0), "rows per block of RecomputeChain");
  EXPECT_DEATH(
      RecomputeChain(tape, inputs, Var<double>(), {2, 5, 4}, 2, Link()),
      "a block of RecomputeChain to \\[2, 5, 4\\]");
  EXPECT_DEATH(
      RecomputeChain(tape, inputs, Var<double>(), {2, 0, 3}, 2, Link()),
      "no rows and no state");
  const auto growing = [](absl::Span<const Var<double>> in, Var<double>,
                          int64_t first, int64_t count) {
    return RowsAndState<double>{Slice(in[0], 1, first, count),
                                Slice(in[0], 1, 0, first + count)};
  };
  EXPECT_DEATH(
      RecomputeChain(tape, inputs, Var<double>(), {2, 5, 3}, 2, growing),
      "states of RecomputeChain");
}

TEST(RecomputeDeathTest, BothRunsHaveOneShape) {
  Tape<double> tape;
  const Var<double> in[] = {tape.Input({4}, {1, 2, 3, 4})};
  int64_t length = 3;
  const int64_t* const now = &length;
  const Var<double> y = Sum(Recompute(tape, absl::MakeConstSpan(in),
                                      [=](absl::Span<const Var<double>> in) {
                                        return Slice(in[0], 0, 0, *now);
                                      }));
  length = 4;
  EXPECT_DEATH(tape.Backward(y), "gave another shape the second time");
}

TEST(RecomputeTest, KeepsOnlyTheOutput) {
  Tape<double> tape;
  Var<double> x = tape.Input({1, 2}, {1, 2});
  const Var<double> inputs[] = {x, tape.Input({2, 2}, {1, 0, 0, 1})};
  const size_t before = tape.records();
  Var<double> y = Recompute(tape, absl::MakeConstSpan(inputs), Block());
  EXPECT_EQ(tape.records(), before + 1);
  EXPECT_NEAR(y.data()[1], 0.9993292997390670, 1e-14);  // tanh(4)
}

// A change of the tape's flags or random state between the forward and the
// backward pass must not change the gradient.
TEST(RecomputeTest, ReplaysUnderTheFlagsOfTheRecording) {
  const auto gradient = [](auto change) {
    Tape<double> tape;
    tape.set_training(true);
    tape.set_random({.seed = 7, .step = 1, .examples = {}});
    const Var<double> inputs[] = {tape.Input({1, 9}, std::vector<double>(9, 1)),
                                  tape.Full({9, 9}, 0.1)};
    const Var<double> y =
        Sum(Recompute(tape, absl::MakeConstSpan(inputs), Block()));
    change(tape);
    tape.Backward(y);
    const double* const d = inputs[0].grad_data();
    return d == nullptr ? std::vector<double>() : std::vector<double>(d, d + 9);
  };
  const std::vector<double> expected = gradient([](auto&) {});
  EXPECT_EQ(expected.size(), 9u);
  EXPECT_EQ(gradient([](auto& tape) { tape.set_training(false); }), expected);
  EXPECT_EQ(gradient([](auto& tape) {
              tape.set_random({.seed = 8, .step = 2, .examples = {}});
            }),
            expected);
  EXPECT_EQ(gradient([](auto& tape) { tape.set_recording(false); }), expected);
}

TEST(RecomputeTest, FaultFinderSurvivesTheReplay) {
  Tape<double> tape;
  FaultFinder<double> finder(tape);
  const Var<double> inputs[] = {tape.Input({1, 2}, {1, 2}),
                                tape.Input({2, 2}, {1, 0, 0, 1})};
  Var<double> y = Recompute(tape, absl::MakeConstSpan(inputs), Block());
  tape.Backward(Sum(y));
  EXPECT_EQ(finder.fault(), "");
}

}  // namespace
}  // namespace regard
