#include "attention/mixers/delta_recurrence.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "attention/mixers/decayed_recurrence.h"
#include "autodiff/ops/elementwise.h"
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
  // Returns inputs whose keys have lengths below 1.
  std::vector<TestInputSpec> inputs() const {
    const Shape keys = {2, 2, time, kKeyWidth};
    std::vector<TestInputSpec> all = {{keys},
                                      {keys, -.5, .5},
                                      {keys.With(3, kValueWidth)},
                                      {keys.With(3, 1), .1, 1.9}};
    if (state) all.push_back({{2, 2, kKeyWidth, kValueWidth}});
    if (decay_width > 0) all.push_back({keys.With(3, decay_width), -.5, 0});
    return all;
  }
  template <typename T>
  DeltaInputs<T> Of(absl::Span<const Var<T>> in) const {
    DeltaInputs<T> all = {{in[0], in[1], in[2]}, in[3]};
    if (state) all.decayed.state = in[4];
    if (decay_width > 0) all.decayed.log_decay = in[in.size() - 1];
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
  return Concat<T>({all.outputs.Reshape({all.outputs.size()}),
                    all.state.Reshape({all.state.size()})},
                   0);
}

// Returns the inputs at positions begin .. begin + count - 1, with `state` as
// the initial state.
template <typename T>
DeltaInputs<T> Part(const DeltaInputs<T>& in, int64_t begin, int64_t count,
                    Var<T> state) {
  const auto part = [&](Var<T> x) {
    return x.has_value() ? Slice(x, 2, begin, count) : x;
  };
  return {{part(in.decayed.queries), part(in.decayed.keys),
           part(in.decayed.values), part(in.decayed.log_decay), state},
          part(in.rates)};
}

// Computes the recurrence position by position.
template <typename T>
DecayedOutputs<T> Stepped(const DeltaInputs<T>& in) {
  std::vector<Var<T>> outputs;
  Var<T> state = in.decayed.state;
  for (int64_t t = 0; t < in.decayed.queries.dim(2); ++t) {
    const DecayedOutputs<T> step = DeltaStep<T>(Part(in, t, 1, state));
    outputs.push_back(step.outputs);
    state = step.state;
  }
  return {Concat<T>(outputs, 2), state};
}

TEST(DeltaRecurrenceTest, Gradients) {
  std::vector<GradientCase> cases;
  for (const Case& test : AllOf({0, 1, 5, 67})) {
    // To save time, two chunks are tested only with a state.
    if (test.time > 64 && !test.state) continue;
    cases.push_back(MakeCase(
        "DeltaRecurrence", test.label(), test.inputs(),
        [=](auto&, auto in) { return Joined(DeltaRecurrence(test.Of(in))); }));
  }
  for (const Case& test : AllOf({1})) {
    cases.push_back(MakeCase(
        "DeltaStep", test.label(), test.inputs(),
        [=](auto&, auto in) { return Joined(DeltaStep(test.Of(in))); }));
  }
  for (const Case& test : AllOf({0, 1, 5, 17})) {
    if (test.state) continue;
    cases.push_back(
        MakeCase("DeltaMatrix", test.label(), test.inputs(),
                 [=](auto&, auto in) { return DeltaMatrix(test.Of(in)); }));
  }
  CheckGradients(cases);
}

TEST(DeltaRecurrenceTest, AgreesWithSteps) {
  for (const Case& test : AllOf({1, 15, 63, 64, 65, 200})) {
    CheckAgainstReference(MakeFusedKernelCase(
        test.label(), test.inputs(),
        [=](auto&, auto in) { return Joined(DeltaRecurrence(test.Of(in))); },
        [=](auto&, auto in) { return Joined(Stepped(test.Of(in))); }));
  }
}

TEST(DeltaRecurrenceTest, IsAMatrixTimesTheValues) {
  for (const Case& test : AllOf({1, 17, 64, 130})) {
    if (test.state) continue;
    CheckAgainstReference(MakeFusedKernelCase(
        test.label(), test.inputs(),
        [=](auto&, auto in) { return DeltaRecurrence(test.Of(in)).outputs; },
        [=](auto&, auto in) {
          const auto all = test.Of(in);
          return MatMul(DeltaMatrix(all), all.decayed.values);
        }));
  }
}

TEST(DeltaRecurrenceTest, APositionReplacesTheValueOfItsKey) {
  Tape<double> tape;
  const DeltaInputs<double> in = {
      {.queries = tape.Input({1, 1, 3, 1}, {1, 1, 2}),
       .keys = tape.Input({1, 1, 3, 1}, {1, 1, 2}),
       .values = tape.Input({1, 1, 3, 1}, {4, 2, 3}),
       .log_decay = tape.Input({1, 1, 3, 1}, {std::log(.5), std::log(.25), 0}),
       .state = tape.Input({1, 1, 1, 1}, {8})},
      tape.Input({1, 1, 3, 1}, {1, .5, .25})};
  // At the first position, u is 4 - 8 / 2 = 0, and S stays 4. At the second
  // position, u is (2 - 4 / 4) / 2 = 1/2, and S becomes 3/2. At the third
  // position, u is (3 - 2 * 3/2) / 4 = 0, and S stays 3/2.
  for (const auto& out : {DeltaRecurrence(in), Stepped(in)}) {
    EXPECT_THAT(out.outputs.span(),
                ElementsAre(DoubleNear(4, 1e-13), DoubleNear(1.5, 1e-13),
                            DoubleNear(3, 1e-13)));
    EXPECT_NEAR(out.state.item(), 1.5, 1e-13);
  }
}

// A rate of 2 must reflect the state: a key of length 1 with value 0 must
// negate the state along the key. Rates up to 1 cannot do this.
TEST(DeltaRecurrenceTest, ARateOfTwoReflects) {
  Tape<double> tape;
  const DeltaInputs<double> in = {{.queries = tape.Full({1, 1, 1, 1}, 1),
                                   .keys = tape.Full({1, 1, 1, 1}, 1),
                                   .values = tape.Full({1, 1, 1, 1}, 0),
                                   .state = tape.Full({1, 1, 1, 1}, 5)},
                                  tape.Full({1, 1, 1, 1}, 2)};
  EXPECT_EQ(DeltaRecurrence(in).state.item(), -5);
  EXPECT_EQ(DeltaStep(in).state.item(), -5);
}

// Returns inputs for which float operations have rounding errors.
DeltaInputs<float> Numbers(Tape<float>& tape, int64_t batch, int64_t time,
                           int64_t width) {
  const auto input = [&](int64_t cols, int64_t seed, float scale, float least) {
    const Var<float> x = tape.Constant({batch, 2, time, cols});
    for (int64_t i = 0; i < x.size(); ++i) {
      const int64_t row = i / cols % time;
      const auto y = static_cast<float>((i % cols + row * 7 + seed) % 13) / 13;
      x.data()[i] = scale * y + least;
    }
    return x;
  };
  return {{input(width, 1, 1, -.5F), input(width, 2, .4F, -.2F),
           input(5, 3, 1, -.5F), input(width, 4, -1, 0)},
          input(1, 5, 1, 0)};
}

// If all keys are orthogonal, no position has a stored value to replace. The
// delta rule must then give the same bits as linear attention with the values b
// v, with or without a decay.
TEST(DeltaRecurrenceTest, WithOrthogonalKeysItIsLinearAttention) {
  constexpr int64_t kTime = 100;  // two chunks
  for (const int64_t decay_width : {int64_t{0}, int64_t{1}, kTime}) {
    Tape<float> tape;
    DeltaInputs<float> in = Numbers(tape, 1, kTime, kTime);
    for (int64_t i = 0; i < in.decayed.keys.size(); ++i) {
      if (i % kTime != i / kTime % kTime) in.decayed.keys.data()[i] = 0;
    }
    Var<float>& decay = in.decayed.log_decay;
    decay = decay_width == 0 ? Var<float>() : Slice(decay, 3, 0, decay_width);
    DecayedInputs<float> linear = in.decayed;
    linear.values = linear.values * in.rates;
    const DecayedOutputs<float> expected = DecayedRecurrence(linear);
    const DecayedOutputs<float> got = DeltaRecurrence(in);
    EXPECT_THAT(std::vector<float>(got.outputs.span().begin(),
                                   got.outputs.span().end()),
                ::testing::ElementsAreArray(expected.outputs.span()));
    EXPECT_THAT(
        std::vector<float>(got.state.span().begin(), got.state.span().end()),
        ::testing::ElementsAreArray(expected.state.span()));
  }
}

TEST(DeltaRecurrenceTest, CanContinueFromAnEarlierState) {
  constexpr int64_t kTime = 150;
  Tape<double> tape;
  const Case test = {kTime, kKeyWidth, false};
  std::vector<Var<double>> in;
  const auto values = TestInputValues(test.inputs());
  for (size_t i = 0; i < values.size(); ++i) {
    in.push_back(tape.Input(test.inputs()[i].shape, values[i]));
  }
  const DeltaInputs<double> all = test.Of<double>(in);
  const DecayedOutputs<double> whole = DeltaRecurrence(all);
  for (const int64_t first : {1, 64, 149}) {
    const DecayedOutputs<double> before =
        DeltaRecurrence(Part(all, 0, first, Var<double>()));
    const DecayedOutputs<double> after =
        DeltaRecurrence(Part(all, first, kTime - first, before.state));
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

TEST(DeltaRecurrenceTest, BitsDependOnlyOnEarlierPositionsOfTheSameRow) {
  constexpr int64_t kTime = 100;
  Tape<float> tape;
  const DecayedOutputs<float> one =
      DeltaRecurrence(Numbers(tape, 1, kTime, 20));
  const DecayedOutputs<float> many =
      DeltaRecurrence(Numbers(tape, 64, kTime, 20));
  for (int64_t i = 0; i < many.outputs.size(); ++i) {
    ASSERT_EQ(many.outputs.data()[i],
              one.outputs.data()[i % one.outputs.size()]);
  }
  for (const int64_t time : {1, 3, 16, 63, 64, 65, 90}) {
    const DecayedOutputs<float> part =
        DeltaRecurrence(Numbers(tape, 1, time, 20));
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t i = 0; i < time * 5; ++i) {
        ASSERT_EQ(part.outputs.data()[head * time * 5 + i],
                  one.outputs.data()[head * kTime * 5 + i])
            << time << " positions, element " << i;
      }
    }
  }
}

TEST(DeltaRecurrenceTest, AnEmptyInputKeepsTheState) {
  Tape<float> tape;
  DeltaInputs<float> in = {
      {tape.Constant({1, 2, 0, 3}), tape.Constant({1, 2, 0, 3}),
       tape.Constant({1, 2, 0, 4})},
      tape.Constant({1, 2, 0, 1})};
  EXPECT_THAT(DeltaRecurrence(in).state.span(), Each(0));
  in.decayed.state = tape.Full({1, 2, 3, 4}, 5);
  EXPECT_THAT(DeltaRecurrence(in).state.span(), Each(5));
}

// Memory must be linear in the number of positions, and steps after the first
// must not allocate.
TEST(DeltaRecurrenceTest, MemoryIsLinearAndFromTheTape) {
  Tape<float> tape;
  const auto step = [&](int64_t time) {
    tape.Reset();
    const DeltaInputs<float> in = Numbers(tape, 2, time, 20);
    const auto leaf = [&](Var<float> x) {
      return tape.Input(x.shape(), x.span());
    };
    const DeltaInputs<float> leaves = {
        {leaf(in.decayed.queries), leaf(in.decayed.keys),
         leaf(in.decayed.values), leaf(in.decayed.log_decay)},
        leaf(in.rates)};
    tape.Backward(Sum(DeltaRecurrence(leaves).outputs));
    return static_cast<double>(tape.high_water_bytes());
  };
  step(1024);
  const double bytes = step(4096);
  EXPECT_LT(step(16384), 4.2 * bytes);
  if (!CountsAllocations()) GTEST_SKIP() << "not in this build";
  step(1024);
  const int64_t before = AllocationCount();
  step(1024);
  EXPECT_EQ(AllocationCount(), before);
}

TEST(DeltaRecurrenceDeathTest, RefusesShapesThatDoNotFit) {
  Tape<float> tape;
  const Var<float> x = tape.Full({1, 2, 3, 4}, 0);
  const Var<float> rates = tape.Full({1, 2, 3, 1}, 0);
  EXPECT_DEATH(DeltaRecurrence<float>({{x, x, x}, x}),
               "DeltaRecurrence with .* rates \\[1, 2, 3, 4\\]");
  EXPECT_DEATH(
      DeltaRecurrence<float>({{x, tape.Full({1, 2, 3, 5}, 0), x}, rates}),
      "keys \\[1, 2, 3, 5\\]");
  EXPECT_DEATH(
      DeltaRecurrence<float>({{x, x, tape.Full({1, 2, 4, 5}, 0)}, rates}),
      "values \\[1, 2, 4, 5\\]");
  EXPECT_DEATH(DeltaStep<float>({{x, x, x}, rates}), "positions of a step");
}

}  // namespace
}  // namespace regard
