#include "attention/checks/head_output_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "attention/checks/config_choice.h"
#include "attention/checks/scoring_problem.h"
#include "attention/head_outputs/head_output.pb.h"
#include "autodiff/gradient_failures.h"
#include "autodiff/shape.h"
#include "autodiff/tape.h"
#include "nn/forward.h"
#include "nn/parameters.h"
#include "options/config_problems.h"

namespace regard {

namespace {

// A head output with its own parameters and tape.
template <typename T>
class HeadOutputUnderTest {
 public:
  explicit HeadOutputUnderTest(const HeadOutputToCheck& checked,
                               uint64_t seed = 1)
      : output_(checked.registry.template Create<T>(
            ConfigWithChoice<HeadOutputConfig>(checked.options), store_.Root(),
            checked.widths)) {
    store_.Finalize(seed);
    forward_ = std::make_unique<Forward<T>>(tape_, store_, nullptr);
  }

  ParameterStore<T>& store() { return store_; }
  const HeadOutput<T>& output() const { return *output_; }

  TestArray Compute(const TestArray& context, const TestArray& x) {
    forward_->BeginStep();
    const Var<T> y = output_->Output(*forward_, Input(context), Input(x));
    return {y.shape(), {y.span().begin(), y.span().end()}};
  }

 private:
  Var<T> Input(const TestArray& array) {
    return tape_.Input(
        array.shape, std::vector<T>(array.values.begin(), array.values.end()));
  }

  ParameterStore<T> store_;
  std::unique_ptr<HeadOutput<T>> output_;
  Tape<T> tape_;
  std::unique_ptr<Forward<T>> forward_;
};

struct Problem {
  TestArray context;  // [batch, queries, heads, value width]
  TestArray x;        // [batch, queries, input]
};

Problem RandomProblem(const HeadOutputWidths& widths, int64_t batch,
                      int64_t queries) {
  return {RandomArray({batch, queries, widths.heads, widths.value}, "context"),
          RandomArray({batch, queries, widths.input}, "x")};
}

void IsReachableByAConfig(const HeadOutputToCheck& checked,
                          Expectations& expect) {
  const auto config = ConfigWithChoice<HeadOutputConfig>(checked.options);
  expect.True(
      checked.registry.Find(config) == &checked.info,
      checked.info.name +
          " is neither a member of regard.HeadOutputConfig.head_output nor an "
          "extension of regard.OutsideHeadOutput");
  expect.True(!checked.info.description.empty(), "it has no description");
}

void GradientsAgreeWithDifferences(const HeadOutputToCheck& checked,
                                   Expectations& expect) {
  HeadOutputUnderTest<double> in_double(checked);
  HeadOutputUnderTest<float> in_float(checked);
  const Problem problem = RandomProblem(checked.widths, 2, 3);
  std::vector<TestInputSpec> inputs = {{problem.context.shape},
                                       {problem.x.shape}};
  for (const ParameterInfo& parameter : in_double.store().parameters()) {
    inputs.push_back({parameter.shape});
  }
  const auto output = [&]<typename T>(Tape<T>& tape,
                                      absl::Span<const Var<T>> in) {
    HeadOutputUnderTest<T>* tested;
    if constexpr (std::is_same_v<T, float>) {
      tested = &in_float;
    } else {
      tested = &in_double;
    }
    Forward<T> forward(tape, tested->store(), in.subspan(2));
    return tested->output().Output(forward, in[0], in[1]);
  };  // NOLINT(readability/braces)
  for (const std::string& failure : GradientFailures(
           {MakeCase(checked.info.name, "output", inputs, output)})) {
    expect.True(false, failure);
  }
}

void ComputesEachQueryByItself(const HeadOutputToCheck& checked,
                               Expectations& expect) {
  HeadOutputUnderTest<double> tested(checked);
  const Problem all = RandomProblem(checked.widths, 3, 5);
  const TestArray expected = tested.Compute(all.context, all.x);
  // Sets all queries to NaN, except one query of one example. The output for
  // this query must be bit-identical.
  for (const int64_t example : {0, 2}) {
    for (const int64_t query : {0, 3}) {
      Problem alone = all;
      for (TestArray* array : {&alone.context, &alone.x}) {
        const auto row = array->values.size() / 15;
        for (size_t i = 0; i < array->values.size(); ++i) {
          if (i / row == static_cast<size_t>(example * 5 + query)) continue;
          array->values[i] = std::numeric_limits<double>::quiet_NaN();
        }
      }
      const auto row = [&](const TestArray& array) {
        return Take(Take(array, 0, absl::MakeConstSpan(&example, 1)), 1,
                    absl::MakeConstSpan(&query, 1));
      };
      const std::string what =
          absl::StrCat("query ", query, " of example ", example);
      expect.Near(row(tested.Compute(alone.context, alone.x)), row(expected), 0,
                  what + ", others are NaN");
      expect.Near(tested.Compute(row(all.context), row(all.x)), row(expected),
                  0, what + " alone");
    }
  }
}

void GivesItsWidthForEveryExtent(const HeadOutputToCheck& checked,
                                 Expectations& expect) {
  HeadOutputUnderTest<float> tested(checked);
  const int64_t width = tested.output().Width();
  expect.True(width > 0, absl::StrCat("Width() is ", width));
  for (const int64_t batch : {0, 1, 3}) {
    for (const int64_t queries : {0, 1, 5}) {
      const Problem problem = RandomProblem(checked.widths, batch, queries);
      const Shape want = {batch, queries, width};
      const Shape got = tested.Compute(problem.context, problem.x).shape;
      expect.True(got == want, absl::StrCat("shape ", got.ToString(),
                                            ", expected ", want.ToString()));
    }
  }
}

void IsPlainAttentionWhereItSaysSo(const HeadOutputToCheck& checked,
                                   Expectations& expect) {
  if (!checked.is_plain) return expect.Skip("it is not with these options");
  const int64_t joined = checked.info.joined_heads;
  const auto& widths = checked.widths;
  Problem problem = RandomProblem(widths, 2, 3);
  for (double& value : problem.context.values) value *= 0x1p-30;
  std::vector<int64_t> first;
  for (int64_t h = 0; h < widths.heads; h += joined) first.push_back(h);
  TestArray expected = Take(problem.context, 2, first);
  expected.shape = {2, 3, widths.heads / joined * widths.value};
  // The contexts are far below 1, so that a norm does not change them. The
  // outputs are scaled back to a magnitude that Near() can compare.
  for (double& value : expected.values) value *= 0x1p30;
  TestArray got =
      HeadOutputUnderTest<double>(checked).Compute(problem.context, problem.x);
  for (double& value : got.values) value *= 0x1p30;
  expect.Near(got, expected, 0, "output");
}

void AllStateIsInTheParameters(const HeadOutputToCheck& checked,
                               Expectations& expect) {
  const Problem problem = RandomProblem(checked.widths, 2, 3);
  HeadOutputUnderTest<double> saved(checked, /*seed=*/1);
  HeadOutputUnderTest<double> loaded(checked, /*seed=*/2);
  for (const ParameterInfo& parameter : saved.store().parameters()) {
    const auto from =
        saved.store().value(*saved.store().FindByName(parameter.name));
    const auto to =
        loaded.store().value(*loaded.store().FindByName(parameter.name));
    std::copy(from.begin(), from.end(), to.begin());
  }
  expect.Near(loaded.Compute(problem.context, problem.x),
              saved.Compute(problem.context, problem.x), 0, "loaded");
}

}  // namespace

std::optional<HeadOutputWidths> TestWidths(
    const HeadOutputInfo& info, const google::protobuf::Message& options) {
  for (const int64_t value : {3, 4}) {
    const int64_t shared = 4 / info.joined_heads;
    const HeadOutputWidths widths = {.heads = 4,
                                     .key_heads = shared,
                                     .value_heads = shared,
                                     .value = value,
                                     .input = 5};
    ConfigProblems problems;
    info.validate(options, widths, problems);
    if (problems.ok()) return widths;
  }
  return std::nullopt;
}

std::vector<HeadOutputCheck> HeadOutputChecks() {
  return {
      {"IsReachableByAConfig", &IsReachableByAConfig},
      {"GradientsAgreeWithDifferences", &GradientsAgreeWithDifferences},
      {"ComputesEachQueryByItself", &ComputesEachQueryByItself},
      {"GivesItsWidthForEveryExtent", &GivesItsWidthForEveryExtent},
      {"IsPlainAttentionWhereItSaysSo", &IsPlainAttentionWhereItSaysSo},
      {"AllStateIsInTheParameters", &AllStateIsInTheParameters},
  };
}

}  // namespace regard
