// Steps of a shared weight against the same steps one by one.
#include "autodiff/ops/step_weight.h"

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/ops/elementwise.h"
#include "autodiff/ops/gru.h"
#include "autodiff/ops/linear.h"
#include "autodiff/ops/lstm.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using ::testing::ElementsAre;

// Three steps: with a bias, on top of the step before, and with nothing added.
auto Chain(bool shared) {
  return [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
    const Var<T> none;
    if (shared) {
      StepWeight<T>* const weight = StepWeight<T>::New(in[1]);
      const Var<T> first = StepLinear(in[0], weight, in[2]);
      const Var<T> second = StepLinear(first, weight, first);
      return StepLinear(second, weight, none);
    }
    const Var<T> first = Linear(in[0], in[1], in[2]);
    return Linear(first + Linear(first, in[1], none), in[1], none);
  };  // NOLINT(readability/braces)
}

std::vector<CheckedInput> ChainInputs(int64_t size) {
  return {{{3, size}}, {{size, size}}, {{size}}};
}

// The last states of a GRU or an LSTM that takes its inputs one by one.
auto CellSteps(bool lstm, GruForm form, bool shared) {
  return [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> in) {
    StepWeight<T>* const weight = shared ? StepWeight<T>::New(in[1]) : nullptr;
    Var<T> state = in[2];
    Var<T> cell = in[2];
    for (int64_t t = 0; t < in[0].dim(1); ++t) {
      const Var<T> x = Slice(in[0], 1, t, 1);
      if (lstm) {
        const LstmOutputs<T> out =
            LstmSequence<T>({x, in[1], in[3], state, cell, {}, false, weight});
        state = out.final_state;
        cell = out.final_cell;
      } else {
        const Var<T> bias = form == GruForm::kResetAfter ? in[3] : Var<T>();
        state = GruSequence<T>({x, in[1], bias, state, {}, false, form, weight})
                    .final_state;
      }
    }
    return state;
  };  // NOLINT(readability/braces)
}

std::vector<CheckedInput> CellInputs(int64_t gates, bool biased,
                                     int64_t width) {
  std::vector<CheckedInput> inputs = {
      {{2, 3, gates * width}}, {{gates * width, width}}, {{2, width}}};
  if (biased) inputs.push_back({{gates * width}});
  return inputs;
}

std::vector<GradientCase> Cases() {
  std::vector<GradientCase> cases;
  cases.push_back(
      MakeCase("StepLinear", "three steps", ChainInputs(5), Chain(true)));
  cases.push_back(MakeCase("GruSequence", "reset before, by steps",
                           CellInputs(3, false, 5),
                           CellSteps(false, GruForm::kResetBefore, true)));
  cases.push_back(MakeCase("GruSequence", "reset after, by steps",
                           CellInputs(3, true, 5),
                           CellSteps(false, GruForm::kResetAfter, true)));
  cases.push_back(MakeCase("LstmSequence", "by steps", CellInputs(4, true, 5),
                           CellSteps(true, GruForm::kResetBefore, true)));
  return cases;
}

TEST(StepWeightTest, Gradients) { CheckGradients(Cases()); }

TEST(StepWeightTest, EveryOperationHasACase) {
  ExpectCaseForEachOperation("autodiff/ops/step_weight.h", Cases());
}

TEST(StepWeightTest, SharedStepsAgreeWithStepsOfTheirOwn) {
  for (const int64_t size : kRaggedSizes) {
    CheckAgainstReference(MakeReferenceCase("StepLinear", ChainInputs(size),
                                            Chain(true), Chain(false)));
    for (const GruForm form : {GruForm::kResetBefore, GruForm::kResetAfter}) {
      CheckAgainstReference(MakeReferenceCase(
          "GruSequence", CellInputs(3, form == GruForm::kResetAfter, size),
          CellSteps(false, form, true), CellSteps(false, form, false)));
    }
    CheckAgainstReference(
        MakeReferenceCase("LstmSequence", CellInputs(4, true, size),
                          CellSteps(true, GruForm::kResetBefore, true),
                          CellSteps(true, GruForm::kResetBefore, false)));
  }
}

TEST(StepWeightTest, AStepThatNobodyUsesAddsNothing) {
  Tape<double> tape;
  const Var<double> x = tape.Input({1, 2}, {1, 2});
  const Var<double> w = tape.Input({1, 2}, {3, 5});
  StepWeight<double>* const weight = StepWeight<double>::New(w);
  const Var<double> used = StepLinear(x, weight, {});
  StepLinear(tape.Full({1, 2}, 100), weight, {});
  EXPECT_EQ(used.item(), 13);
  tape.Backward(used.WithShape({}), 2);
  EXPECT_THAT(absl::MakeConstSpan(w.grad_data(), 2), ElementsAre(2, 4));
  EXPECT_THAT(absl::MakeConstSpan(x.grad_data(), 2), ElementsAre(6, 10));
}

TEST(StepWeightTest, AnUnusedWeightGetsNoGradient) {
  Tape<double> tape;
  const Var<double> w = tape.Input({1, 1}, {3});
  const Var<double> x = tape.Input({}, {1});
  StepWeight<double>::New(w);
  tape.Backward(x);
  EXPECT_EQ(w.grad_data(), nullptr);
}

TEST(StepWeightDeathTest, WidthsThatDiffer) {
  Tape<double> tape;
  StepWeight<double>* const weight =
      StepWeight<double>::New(tape.Full({3, 2}, 1));
  const Var<double> x = tape.Full({1, 2}, 1);
  EXPECT_DEATH(StepLinear(tape.Full({1, 3}, 1), weight, {}),
               "StepLinear of \\[1, 3\\] with weight \\[3, 2\\]");
  EXPECT_DEATH(StepLinear(x, weight, x), "what StepLinear adds");
}

}  // namespace
}  // namespace regard
