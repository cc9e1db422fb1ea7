#include "autodiff/testing/gradient_check.h"

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "autodiff/tape.h"
#include "autodiff/testing/fault_drill.h"
#include "gtest/gtest.h"

namespace regard {

namespace {

// Runs InjectFaults() on twice the sum of an operation's output.
FaultInjectionSummary Drill(const GradientCase& test) {
  const std::vector<std::vector<double>> values = TestInputValues(test.inputs);
  return InjectFaults<double>([&](Tape<double>& tape) {
    std::vector<Var<double>> inputs;
    for (size_t i = 0; i < values.size(); ++i) {
      inputs.push_back(tape.Input(test.inputs[i].shape, values[i]));
    }
    const Var<double> y = test.in_double(tape, inputs);
    const Var<double> twice = tape.NewLike(y, y.needs_grad());
    for (int64_t i = 0; i < y.size(); ++i) twice.data()[i] = 2 * y.data()[i];
    tape.Record("Twice", twice, [=] {
      if (auto d = y.grad_ref()) {
        d.AddEach([=](int64_t i) { return 2 * twice.grad_data()[i]; });
      }
    });
    const Var<double> sum = tape.New({}, y.needs_grad());
    *sum.data() = 0;
    for (const double value : twice.span()) *sum.data() += value;
    tape.Record("Sum", sum, [=] {
      if (auto d = twice.grad_ref()) {
        d.AddEach([=](int64_t) { return *sum.grad_data(); });
      }
    });
    tape.Backward(sum);
  });
}

}  // namespace

void CheckGradients(const std::vector<GradientCase>& cases) {
  for (const std::string& text : GradientFailures(cases)) ADD_FAILURE() << text;
  FaultInjectionSummary all;
  for (const GradientCase& test : cases) {
    const FaultInjectionSummary drill = Drill(test);
    for (const std::string& text : drill.failures) {
      ADD_FAILURE() << test.operation << " " << test.label << ": " << text;
    }
    all.faults += drill.faults;
    all.operations.insert(drill.operations.begin(), drill.operations.end());
  }
  std::cout << all.faults << " faults in " << all.operations.size()
            << " operations: " << absl::StrJoin(all.operations, " ") << "\n";
}

void CheckAgainstReference(const FusedKernelCase& test) {
  for (const std::string& text : FusedKernelFailures(test)) {
    ADD_FAILURE() << text;
  }
}

}  // namespace regard
