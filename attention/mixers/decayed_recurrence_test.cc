#include "attention/mixers/decayed_recurrence.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/mixers/decayed_products.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/reductions.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kKeyWidth = 3;
constexpr int64_t kValueWidth = 2;

struct Case {
  int64_t time;
  int64_t decay_width;
  bool state;

  std::string label() const {
    return std::to_string(time) + " positions, decay " +
           std::to_string(decay_width) + (state ? ", a state" : "");
  }
  std::vector<TestInputSpec> inputs() const {
    const Shape keys = {2, 2, time, kKeyWidth};
    std::vector<TestInputSpec> all = {
        {keys}, {keys}, {keys.With(3, kValueWidth)}};
    if (state) all.push_back({{2, 2, kKeyWidth, kValueWidth}});
    if (decay_width > 0) all.push_back({keys.With(3, decay_width), -.5, 0});
    return all;
  }
  template <typename T>
  DecayedInputs<T> Of(absl::Span<const Var<T>> in) const {
    DecayedInputs<T> all = {in[0], in[1], in[2]};
    if (state) all.state = in[3];
    if (decay_width > 0) all.log_decay = in[in.size() - 1];
    return all;
  }
};

std::vector<Case> AllOf(std::vector<int64_t> times) {
  std::vector<Case> cases;
  for (const int64_t time : times) {
    for (const int64_t decay_width : {int64_t{0}, int64_t{1}, kKeyWidth}) {
      for (const bool state : {false, true}) {
        cases.push_back({time, decay_width, state});
      }
    }
  }
  return cases;
}

// Returns the outputs and the state, concatenated.
template <typename T>
Var<T> Joined(const DecayedOutputs<T>& all) {
  const int64_t outputs = all.outputs.size();
  return Concat<T>(
      {all.outputs.Reshape({outputs}), all.state.Reshape({all.state.size()})},
      0);
}

// Computes the recurrence position by position.
template <typename T>
DecayedOutputs<T> Stepped(DecayedInputs<T> in) {
  std::vector<Var<T>> outputs;
  const auto at = [](Var<T> x, int64_t t) {
    return x.has_value() ? Slice(x, 2, t, 1) : x;
  };
  for (int64_t t = 0; t < in.queries.dim(2); ++t) {
    const DecayedOutputs<T> step =
        DecayedStep<T>({at(in.queries, t), at(in.keys, t), at(in.values, t),
                        at(in.log_decay, t), in.state});
    outputs.push_back(step.outputs);
    in.state = step.state;
  }
  return {Concat<T>(outputs, 2), in.state};
}

TEST(DecayedRecurrenceTest, Gradients) {
  std::vector<GradientCase> cases;
  for (const Case& test : AllOf({0, 1, 5, 67, 130})) {
    cases.push_back(MakeCase("DecayedRecurrence", test.label(), test.inputs(),
                             [=](auto&, auto in) {
                               return Joined(DecayedRecurrence(test.Of(in)));
                             }));
    cases.push_back(MakeCase("DecayedRecurrence", test.label() + ": outputs",
                             test.inputs(), [=](auto&, auto in) {
                               return DecayedRecurrence(test.Of(in)).outputs;
                             }));
    cases.push_back(MakeCase(
        "DecayedRecurrence", test.label() + ": state", test.inputs(),
        [=](auto&, auto in) { return DecayedRecurrence(test.Of(in)).state; }));
  }
  for (const Case& test : AllOf({1})) {
    cases.push_back(MakeCase(
        "DecayedStep", test.label(), test.inputs(),
        [=](auto&, auto in) { return Joined(DecayedStep(test.Of(in))); }));
  }
  CheckGradients(cases);
}

TEST(DecayedRecurrenceTest, AgreesWithSteps) {
  for (const Case& test : AllOf({1, 15, 63, 64, 65, 200})) {
    CheckAgainstReference(MakeFusedKernelCase(
        test.label(), test.inputs(),
        [=](auto&, auto in) { return Joined(DecayedRecurrence(test.Of(in))); },
        [=](auto&, auto in) { return Joined(Stepped(test.Of(in))); }));
  }
}

TEST(DecayedRecurrenceTest, IsAMatrixTimesTheValues) {
  for (const Case& test : AllOf({1, 17, 64, 130})) {
    if (test.state) continue;
    CheckAgainstReference(MakeFusedKernelCase(
        test.label(), test.inputs(),
        [=](auto&, auto in) { return DecayedRecurrence(test.Of(in)).outputs; },
        [=](auto&, auto in) {
          const auto all = test.Of(in);
          return MatMul(DecayedProducts(all.queries, all.keys, all.log_decay),
                        all.values);
        }));
  }
}

TEST(DecayedRecurrenceTest, KeepsWhatWasWrittenUntilItDecays) {
  Tape<double> tape;
  const DecayedInputs<double> in = {
      .queries = tape.Input({1, 1, 3, 1}, {1, 1, 2}),
      .keys = tape.Input({1, 1, 3, 1}, {1, 3, 1}),
      .values = tape.Input({1, 1, 3, 1}, {4, 2, 1}),
      .log_decay = tape.Input({1, 1, 3, 1}, {std::log(.5), std::log(.25), 0}),
      .state = tape.Input({1, 1, 1, 1}, {8})};
  // The decays are 1/2, 1/4 and 1. The state S is 8 / 2 + 4 = 8, then
  // 8 / 4 + 6 = 8, then 8 + 1 = 9.
  for (const auto& out : {DecayedRecurrence(in), Stepped(in)}) {
    EXPECT_THAT(out.outputs.span(),
                ElementsAre(DoubleNear(8, 1e-13), DoubleNear(8, 1e-13),
                            DoubleNear(18, 1e-13)));
    EXPECT_NEAR(out.state.item(), 9, 1e-13);
  }
}

TEST(DecayedRecurrenceTest, CanContinueFromAnEarlierState) {
  constexpr int64_t kTime = 150;
  Tape<double> tape;
  const Case test = {kTime, kKeyWidth, false};
  std::vector<Var<double>> in;
  const auto values = TestInputValues(test.inputs());
  for (size_t i = 0; i < values.size(); ++i) {
    in.push_back(tape.Input(test.inputs()[i].shape, values[i]));
  }
  const DecayedInputs<double> all = test.Of<double>(in);
  const DecayedOutputs<double> whole = DecayedRecurrence(all);
  for (const int64_t first : {1, 64, 149}) {
    const auto part = [&](int64_t begin, int64_t end, Var<double> state) {
      return DecayedRecurrence<double>(
          {Slice(all.queries, 2, begin, end - begin),
           Slice(all.keys, 2, begin, end - begin),
           Slice(all.values, 2, begin, end - begin),
           Slice(all.log_decay, 2, begin, end - begin), state});
    };
    const DecayedOutputs<double> before = part(0, first, {});
    const DecayedOutputs<double> after = part(first, kTime, before.state);
    const Var<double> joined =
        Concat<double>({before.outputs, after.outputs}, 2);
    for (int64_t i = 0; i < joined.size(); ++i) {
      EXPECT_NEAR(joined.data()[i], whole.outputs.data()[i], 1e-12);
    }
    for (int64_t i = 0; i < whole.state.size(); ++i) {
      EXPECT_NEAR(after.state.data()[i], whole.state.data()[i], 1e-12);
    }
  }
}

// Returns inputs for which float operations have rounding errors.
DecayedInputs<float> Numbers(Tape<float>& tape, int64_t batch, int64_t time,
                             int64_t width) {
  const auto input = [&](int64_t cols, int64_t seed, bool negative) {
    const Var<float> x = tape.Constant({batch, 2, time, cols});
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t row = i / cols % time;
      const float y = static_cast<float>((i % cols + row * 7 + seed) % 13) / 13;
      x.data()[i] = negative ? -y : y - .5f;
    }
    return x;
  };
  return {input(width, 1, false), input(width, 2, false), input(5, 3, false),
          input(width, 4, true)};
}

TEST(DecayedRecurrenceTest, BitsDependOnlyOnEarlierPositionsOfTheSameRow) {
  constexpr int64_t kTime = 100;
  Tape<float> tape;
  const DecayedOutputs<float> one =
      DecayedRecurrence(Numbers(tape, 1, kTime, 20));
  const DecayedOutputs<float> many =
      DecayedRecurrence(Numbers(tape, 64, kTime, 20));
  for (int64_t i = 0; i < many.outputs.size(); ++i) {
    ASSERT_EQ(many.outputs.data()[i],
              one.outputs.data()[i % one.outputs.size()]);
  }
  for (const int64_t time : {1, 3, 16, 63, 64, 65, 90}) {
    const DecayedOutputs<float> part =
        DecayedRecurrence(Numbers(tape, 1, time, 20));
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t i = 0; i < time * 5; ++i) {
        ASSERT_EQ(part.outputs.data()[head * time * 5 + i],
                  one.outputs.data()[head * kTime * 5 + i])
            << time << " positions, element " << i;
      }
    }
  }
}

TEST(DecayedRecurrenceTest, AnEmptyInputKeepsTheState) {
  Tape<float> tape;
  DecayedInputs<float> in = {tape.Constant({1, 2, 0, 3}),
                             tape.Constant({1, 2, 0, 3}),
                             tape.Constant({1, 2, 0, 4})};
  EXPECT_THAT(DecayedRecurrence(in).state.span(), Each(0));
  in.state = tape.Full({1, 2, 3, 4}, 5);
  EXPECT_THAT(DecayedRecurrence(in).state.span(), Each(5));
}

TEST(DecayedRecurrenceTest, AWarmStepMakesNoHeapAllocation) {
  Tape<float> tape;
  const auto step = [&] {
    tape.Reset();
    const DecayedInputs<float> in = Numbers(tape, 2, 130, 20);
    const auto leaf = [&](Var<float> x) {
      return tape.Input(x.shape(), x.span());
    };
    const DecayedInputs<float> leaves = {leaf(in.queries), leaf(in.keys),
                                         leaf(in.values), leaf(in.log_decay)};
    tape.Backward(Sum(DecayedRecurrence(leaves).outputs));
  };
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  step();
  step();
  const int64_t before = AllocationCount();
  step();
  EXPECT_EQ(AllocationCount(), before);
}

TEST(DecayedRecurrenceDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  const Var<float> x = tape.Full({1, 2, 3, 4}, 0);
  EXPECT_DEATH(DecayedRecurrence<float>({x, tape.Full({1, 2, 3, 5}, 0), x}),
               "keys \\[1, 2, 3, 5\\]");
  EXPECT_DEATH(DecayedRecurrence<float>({x, x, tape.Full({1, 2, 4, 5}, 0)}),
               "values \\[1, 2, 4, 5\\]");
  EXPECT_DEATH(DecayedRecurrence<float>({x, x, x, tape.Full({1, 2, 3, 2}, 0)}),
               "log decay \\[1, 2, 3, 2\\]");
  EXPECT_DEATH(
      DecayedRecurrence<float>({x, x, x, {}, tape.Full({1, 2, 3, 4}, 0)}),
      "state \\[1, 2, 3, 4\\]");
  EXPECT_DEATH(DecayedStep<float>({x, x, x}), "positions of a step");
}

}  // namespace
}  // namespace regard
