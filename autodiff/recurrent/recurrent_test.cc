// Compares the fused recurrent operations with compositions of plain operations
// and with finite differences.
#include "autodiff/recurrent/recurrent.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/ops/shape_ops.h"
#include "autodiff/random.h"
#include "autodiff/tape.h"
#include "autodiff/testing/gradient_check.h"
#include "autodiff/testing/recurrent_reference.h"
#include "gtest/gtest.h"

namespace regard {
namespace {

using Vars = std::vector<Var<double>>;
// Maps inputs on a tape to outputs.
using Function = std::function<Vars(const Vars&)>;

std::vector<double> Random(const Shape& shape, uint64_t seed) {
  const RandomStream stream(seed, "test");
  std::vector<double> values(shape.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = stream.NormalAt(i);
  return values;
}

struct Result {
  std::vector<std::vector<double>> outputs;    // values
  std::vector<std::vector<double>> gradients;  // one array per input
};

// Returns the outputs of f, and the gradients of a random linear function of
// the outputs. This function reads only outputs whose entry in `used` is true.
Result Evaluate(const Function& f, const std::vector<Shape>& shapes,
                const std::vector<std::vector<double>>& values,
                const std::vector<bool>& used) {
  Tape<double> tape;
  Vars inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    inputs.push_back(tape.Input(shapes[i], values[i]));
  }
  const Vars outputs = f(inputs);
  Result result;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Var<double> out = outputs[k];
    result.outputs.emplace_back(out.data(), out.data() + out.size());
    if (!used[k]) continue;
    const std::vector<double> weights = Random(out.shape(), 100 + k);
    if (auto d = out.grad_ref()) {
      d.AddEach([&](int64_t i) { return weights[i]; });
    }
  }
  tape.BackwardTo({});
  for (const Var<double>& input : inputs) {
    result.gradients.emplace_back(input.size(), 0.0);
    if (input.grad_data() == nullptr) continue;
    result.gradients.back().assign(input.grad_data(),
                                   input.grad_data() + input.size());
  }
  return result;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b,
                double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], tolerance) << what << ", element " << i;
  }
}

void ExpectSame(const Function& fused, const Function& reference,
                const std::vector<Shape>& shapes, size_t outputs) {
  std::vector<std::vector<double>> values;
  for (size_t i = 0; i < shapes.size(); ++i) {
    values.push_back(Random(shapes[i], i));
  }
  for (unsigned subset = 1; subset < 1u << outputs; ++subset) {
    std::vector<bool> used;
    for (size_t k = 0; k < outputs; ++k) used.push_back(subset >> k & 1);
    const Result a = Evaluate(fused, shapes, values, used);
    const Result b = Evaluate(reference, shapes, values, used);
    for (size_t k = 0; k < outputs; ++k) {
      ExpectNear(a.outputs[k], b.outputs[k], 1e-13,
                 "output " + std::to_string(k));
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      ExpectNear(a.gradients[i], b.gradients[i], 1e-12,
                 "gradient of input " + std::to_string(i));
    }
  }
}

struct Case {
  int64_t batch, time, width;
  std::vector<int32_t> lengths;
};

const std::vector<Case>& Cases() {
  static const auto* const cases = new std::vector<Case>{
      {1, 1, 1, {}},      {1, 4, 3, {}},           {3, 5, 7, {5, 0, 1}},
      {2, 3, 17, {2, 3}}, {4, 4, 5, {1, 1, 1, 1}}, {2, 3, 2, {0, 0}},
  };
  return *cases;
}

RecurrentSequenceOperands<double> GruInputs(const Case& c, bool reverse,
                                            GruForm form, const Vars& x) {
  RecurrentSequenceOperands<double> in = {x[0],   x[1],      {},
                                          {x[2]}, c.lengths, reverse};
  if (form == GruForm::kResetAfter) in.bias_hh = x[3];
  return in;
}

Function Gru(const Case& c, bool reverse, GruForm form, bool fused) {
  return [=](const Vars& x) {
    const RecurrentSequenceOperands<double> in = GruInputs(c, reverse, form, x);
    const RecurrentSequenceOutputs<double> out =
        fused ? GruSequence(in, form) : GruSequenceReference(in, form);
    return Vars{out.sequence, out.final_state[0]};
  };
}

std::vector<Shape> GruShapes(const Case& c, GruForm form) {
  std::vector<Shape> shapes = {{c.batch, c.time, 3 * c.width},
                               {3 * c.width, c.width},
                               {c.batch, c.width}};
  if (form == GruForm::kResetAfter) shapes.push_back({3 * c.width});
  return shapes;
}

Function Lstm(const Case& c, bool reverse, bool fused) {
  return [=](const Vars& x) {
    const RecurrentSequenceOperands<double> in = {
        x[0], x[1], x[4], {x[2], x[3]}, c.lengths, reverse};
    const RecurrentSequenceOutputs<double> out =
        fused ? LstmSequence(in) : LstmSequenceReference(in);
    return Vars{out.sequence, out.final_state[0], out.final_state[1]};
  };
}

std::vector<Shape> LstmShapes(const Case& c) {
  return {{c.batch, c.time, 4 * c.width},
          {4 * c.width, c.width},
          {c.batch, c.width},
          {c.batch, c.width},
          {4 * c.width}};
}

TEST(RecurrentTest, FusedGruEqualsItsComposition) {
  for (const Case& c : Cases()) {
    for (const bool reverse : {false, true}) {
      for (const GruForm form : {GruForm::kResetBefore, GruForm::kResetAfter}) {
        SCOPED_TRACE(testing::Message() << c.batch << " x " << c.time << " x "
                                        << c.width << " reverse " << reverse
                                        << " form " << static_cast<int>(form));
        ExpectSame(Gru(c, reverse, form, true), Gru(c, reverse, form, false),
                   GruShapes(c, form), 2);
      }
    }
  }
}

TEST(RecurrentTest, FusedLstmEqualsItsComposition) {
  for (const Case& c : Cases()) {
    for (const bool reverse : {false, true}) {
      SCOPED_TRACE(testing::Message() << c.batch << " x " << c.time << " x "
                                      << c.width << " reverse " << reverse);
      ExpectSame(Lstm(c, reverse, true), Lstm(c, reverse, false), LstmShapes(c),
                 3);
    }
  }
}

// Concatenates all outputs into one vector for the gradient checks.
template <typename T>
Var<T> Join(const std::vector<Var<T>>& outputs) {
  std::vector<Var<T>> flat;
  for (const Var<T>& out : outputs) flat.push_back(out.Reshape({out.size()}));
  return Concat<T>(flat, 0);
}

std::vector<TestInputSpec> Inputs(const std::vector<Shape>& shapes) {
  std::vector<TestInputSpec> inputs;
  for (const Shape& shape : shapes) inputs.push_back({shape});
  return inputs;
}

// Functions of any scalar type for the gradient checks.
auto JoinedGru(const Case& c, bool reverse, GruForm form, bool fused) {
  return [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> x) {
    RecurrentSequenceOperands<T> in = {x[0],   x[1],      {},
                                       {x[2]}, c.lengths, reverse};
    if (form == GruForm::kResetAfter) in.bias_hh = x[3];
    const RecurrentSequenceOutputs<T> out =
        fused ? GruSequence(in, form) : GruSequenceReference(in, form);
    return Join<T>({out.sequence, out.final_state[0]});
  };  // NOLINT(readability/braces)
}

auto JoinedLstm(const Case& c, bool reverse, bool fused) {
  return [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> x) {
    const RecurrentSequenceOperands<T> in = {x[0],         x[1],      x[4],
                                             {x[2], x[3]}, c.lengths, reverse};
    const RecurrentSequenceOutputs<T> out =
        fused ? LstmSequence(in) : LstmSequenceReference(in);
    return Join<T>({out.sequence, out.final_state[0], out.final_state[1]});
  };  // NOLINT(readability/braces)
}

// Returns the last output of a cell that takes its inputs one step at a time,
// so that gradients of weight_hh are queued.
auto BySteps(bool lstm, GruForm form) {
  return [=]<typename T>(Tape<T>&, absl::Span<const Var<T>> x) {
    const bool biased = lstm || form == GruForm::kResetAfter;
    CellState<T> state = {x[2], lstm ? x[2] : Var<T>()};
    for (int64_t t = 0; t < x[0].dim(1); ++t) {
      const RecurrentSequenceOperands<T> in = {Slice(x[0], 1, t, 1), x[1],
                                               biased ? x[3] : Var<T>(), state};
      state = (lstm ? LstmSequence(in) : GruSequence(in, form)).final_state;
    }
    return state[0];
  };  // NOLINT(readability/braces)
}

std::vector<TestInputSpec> StepInputs(int64_t gates, bool biased,
                                      int64_t width) {
  std::vector<TestInputSpec> inputs = {
      {{2, 3, gates * width}}, {{gates * width, width}}, {{2, width}}};
  if (biased) inputs.push_back({{gates * width}});
  return inputs;
}

std::vector<GradientCase> GradientCases() {
  std::vector<GradientCase> cases;
  const Case c = {3, 4, 5, {4, 0, 2}};
  for (const bool reverse : {false, true}) {
    for (const GruForm form : {GruForm::kResetBefore, GruForm::kResetAfter}) {
      cases.push_back(MakeCase("GruSequence", reverse ? "reverse" : "forward",
                               Inputs(GruShapes(c, form)),
                               JoinedGru(c, reverse, form, true)));
    }
    cases.push_back(MakeCase("LstmSequence", reverse ? "reverse" : "forward",
                             Inputs(LstmShapes(c)),
                             JoinedLstm(c, reverse, true)));
  }
  for (const GruForm form : {GruForm::kResetBefore, GruForm::kResetAfter}) {
    cases.push_back(MakeCase("GruSequence", "by steps",
                             StepInputs(3, form == GruForm::kResetAfter, 5),
                             BySteps(/*lstm=*/false, form)));
  }
  cases.push_back(MakeCase("LstmSequence", "by steps", StepInputs(4, true, 5),
                           BySteps(/*lstm=*/true, GruForm::kResetAfter)));
  return cases;
}

TEST(RecurrentTest, Gradients) { CheckGradients(GradientCases()); }

TEST(RecurrentTest, FloatAgreesWithItsCompositionOnRaggedSizes) {
  for (const int64_t width : kRaggedSizes) {
    const Case c = {3, 3, width, {3, 0, 1}};
    for (const GruForm form : {GruForm::kResetBefore, GruForm::kResetAfter}) {
      CheckAgainstReference(MakeFusedKernelCase(
          "GruSequence", Inputs(GruShapes(c, form)),
          JoinedGru(c, true, form, true), JoinedGru(c, true, form, false)));
    }
    CheckAgainstReference(MakeFusedKernelCase(
        "LstmSequence", Inputs(LstmShapes(c)), JoinedLstm(c, false, true),
        JoinedLstm(c, false, false)));
  }
}

TEST(RecurrentTest, PaddingHasNoEffectAndNoGradient) {
  const Case c = {2, 3, 2, {1, 3}};
  const GruForm form = GruForm::kResetAfter;
  const std::vector<Shape> shapes = GruShapes(c, form);
  std::vector<std::vector<double>> values;
  for (size_t i = 0; i < shapes.size(); ++i) {
    values.push_back(Random(shapes[i], i));
  }
  const Result clean =
      Evaluate(Gru(c, false, form, true), shapes, values, {true, true});
  // Positions 1 and 2 of sequence 0 are padding. NaN in padding must not change
  // the results.
  for (int i = 6; i < 18; ++i) values[0][i] = NAN;
  const Result padded =
      Evaluate(Gru(c, false, form, true), shapes, values, {true, true});
  EXPECT_EQ(clean.outputs, padded.outputs);
  EXPECT_EQ(clean.gradients, padded.gradients);
  for (int i = 6; i < 18; ++i) EXPECT_EQ(padded.gradients[0][i], 0);
  for (int i = 2; i < 6; ++i) EXPECT_EQ(padded.outputs[0][i], 0);
}

TEST(RecurrentTest, PositionsPastTheEndCostNoProduct) {
  const Case c = {4, 6, 5, {2, 6, 0, 3}};
  const int64_t steps = 2 + 6 + 3;
  for (const bool lstm : {false, true}) {
    const GruForm form = GruForm::kResetAfter;
    const std::vector<Shape> shapes = lstm ? LstmShapes(c) : GruShapes(c, form);
    std::vector<std::vector<double>> values;
    for (const Shape& shape : shapes) values.push_back(Random(shape, 1));
    const int64_t before = GemmFlops();
    Evaluate(lstm ? Lstm(c, false, true) : Gru(c, false, form, true), shapes,
             values, {true, true, true});
    // The factor 3 counts the product and the gradients of state and weight.
    EXPECT_EQ(GemmFlops() - before,
              3 * 2 * steps * (lstm ? 4 : 3) * c.width * c.width);
  }
}

TEST(RecurrentTest, ASequenceIsBitIdenticalAloneAndInABatch) {
  const Case all = {4, 6, 33, {2, 6, 0, 3}};
  for (const bool lstm : {false, true}) {
    const GruForm form = GruForm::kResetBefore;
    const std::vector<Shape> shapes =
        lstm ? LstmShapes(all) : GruShapes(all, form);
    // Evaluates the sequences `first`, `first` + 1, ...
    const auto evaluate = [&](const Case& c, int64_t first) {
      std::vector<Shape> of_case = shapes;
      std::vector<std::vector<double>> values;
      for (size_t i = 0; i < shapes.size(); ++i) {
        const std::vector<double> random = Random(shapes[i], i);
        const double* begin = random.data();
        if (shapes[i][0] == all.batch) {
          of_case[i] = shapes[i].With(0, c.batch);
          begin += shapes[i].size() / all.batch * first;
        }
        values.emplace_back(begin, begin + of_case[i].size());
      }
      return Evaluate(lstm ? Lstm(c, true, true) : Gru(c, true, form, true),
                      of_case, values, {false, false, false})
          .outputs;
    };
    const auto together = evaluate(all, 0);
    for (int64_t b = 0; b < all.batch; ++b) {
      const auto alone =
          evaluate({1, all.time, all.width, {all.lengths[b]}}, b);
      for (size_t k = 0; k < alone.size(); ++k) {
        const auto size = static_cast<int64_t>(alone[k].size());
        EXPECT_TRUE(std::equal(alone[k].begin(), alone[k].end(),
                               together[k].begin() + b * size))
            << "output " << k << " of sequence " << b;
      }
    }
  }
}

TEST(RecurrentTest, InferenceHasTheBitsOfTraining) {
  const Case c = {3, 5, 7, {5, 0, 1}};
  for (const bool lstm : {false, true}) {
    const GruForm form = GruForm::kResetBefore;
    const Function f = lstm ? Lstm(c, true, true) : Gru(c, true, form, true);
    const std::vector<Shape> shapes = lstm ? LstmShapes(c) : GruShapes(c, form);
    Tape<double> tape;
    std::vector<std::vector<double>> values[2];
    for (const bool recording : {false, true}) {
      tape.set_recording(recording);
      Vars inputs;
      for (size_t i = 0; i < shapes.size(); ++i) {
        inputs.push_back(tape.Input(shapes[i], Random(shapes[i], i)));
      }
      for (const Var<double>& out : f(inputs)) {
        values[recording].emplace_back(out.data(), out.data() + out.size());
      }
    }
    EXPECT_EQ(values[0], values[1]);
  }
}

// A call for a whole sequence must be bit-identical to one call per step.
void ExpectBitsOfSteps(bool lstm, GruForm form) {
  const Case c = {3, 4, 33, {}};
  const std::vector<Shape> shapes = lstm ? LstmShapes(c) : GruShapes(c, form);
  Tape<float> tape;
  std::vector<Var<float>> x;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<double> values = Random(shapes[i], i);
    x.push_back(tape.Input(shapes[i],
                           std::vector<float>(values.begin(), values.end())));
  }
  RecurrentSequenceOperands<float> in = {x[0], x[1], {}, {x[2]}};
  if (lstm) in.initial[1] = x[3];
  if (lstm || form == GruForm::kResetAfter) in.bias_hh = x.back();
  const auto run = [&] {
    return lstm ? LstmSequence(in) : GruSequence(in, form);
  };
  const RecurrentSequenceOutputs<float> whole = run();
  for (int64_t t = 0; t < c.time; ++t) {
    in.projected = Slice(x[0], 1, t, 1);
    const RecurrentSequenceOutputs<float> step = run();
    in.initial = step.final_state;
    EXPECT_EQ(Slice(whole.sequence, 1, t, 1).span(), step.sequence.span());
  }
  for (int k = 0; k < (lstm ? 2 : 1); ++k) {
    EXPECT_EQ(whole.final_state[k].span(), in.initial[k].span());
  }
}

TEST(RecurrentTest, StepsHaveTheBitsOfTheWholeSequence) {
  ExpectBitsOfSteps(/*lstm=*/false, GruForm::kResetBefore);
  ExpectBitsOfSteps(/*lstm=*/false, GruForm::kResetAfter);
  ExpectBitsOfSteps(/*lstm=*/true, GruForm::kResetAfter);
}

TEST(RecurrentDeathTest, BiasAndShapesAreChecked) {
  Tape<double> tape;
  RecurrentSequenceOperands<double> in;
  in.projected = tape.Full({1, 1, 3}, 0);
  in.weight_hh = tape.Full({3, 1}, 0);
  in.initial = {tape.Full({1, 1}, 0)};
  EXPECT_DEATH(GruSequence(in, GruForm::kResetAfter), "reset_after");
  in.initial = {tape.Full({2, 1}, 0)};
  EXPECT_DEATH(GruSequence(in, GruForm::kResetBefore),
               "initial state 0 of GruSequence");
  EXPECT_DEATH(LstmSequence(in), "projected inputs of LstmSequence");
}

// Limits this process to 1 GiB of additional address space.
void LimitMemory() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * sysconf(_SC_PAGESIZE) + (int64_t{1} << 30);
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

TEST(RecurrentDeathTest, LengthsAreCheckedBeforeMemoryIsTaken) {
  Tape<double> tape;
  RecurrentSequenceOperands<double> in;
  in.projected = tape.Full({2, 4, 3}, 0);
  in.weight_hh = tape.Full({3, 1}, 0);
  in.initial = {tape.Full({2, 1}, 0)};
  for (const int32_t wrong : {5, -1, INT32_MAX}) {
    const std::vector<int32_t> lengths = {4, wrong};
    in.lengths = lengths;
    EXPECT_DEATH(
        {
          LimitMemory();
          GruSequence(in, GruForm::kResetBefore);
        },
        "length " + std::to_string(wrong) + " of 4 steps");
  }
}

}  // namespace
}  // namespace regard
