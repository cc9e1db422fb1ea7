#include "autodiff/testing/gradient_check.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "autodiff/tape.h"
#include "autodiff/testing/fault_drill.h"
#include "gtest/gtest.h"

namespace regard {

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The names of the function templates that a header declares whose result is a
// Var<T>, or a structure named for the outputs of an operation.
std::vector<std::string> Operations(const std::string& header) {
  const std::regex declaration(
      "\ntemplate <typename T[^\n]*>\n"
      "(?:inline )?(?:Var|\\w+Outputs|\\w+And\\w+)<T>\\s(\\w+|operator.)\\(");
  std::vector<std::string> names;
  for (std::sregex_iterator it(header.begin(), header.end(), declaration), end;
       it != end; ++it) {
    names.push_back((*it)[1]);
  }
  return names;
}

// Twice the sum of an operation's output.
FaultDrill Drill(const GradientCase& test) {
  const std::vector<std::vector<double>> values = CheckedValues(test.inputs);
  return DrillFaults<double>([&](Tape<double>& tape) {
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

bool RecordsGradients(const std::string& source) {
  return std::regex_search(source, std::regex("[.>]Record(Outputs)?\\("));
}

}  // namespace

void CheckGradients(const std::vector<GradientCase>& cases) {
  for (const std::string& text : GradientFailures(cases)) ADD_FAILURE() << text;
  FaultDrill all;
  for (const GradientCase& test : cases) {
    const FaultDrill drill = Drill(test);
    for (const std::string& text : drill.failures) {
      ADD_FAILURE() << test.operation << " " << test.label << ": " << text;
    }
    all.faults += drill.faults;
    all.operations.insert(drill.operations.begin(), drill.operations.end());
  }
  std::cout << all.faults << " faults in " << all.operations.size()
            << " operations: " << absl::StrJoin(all.operations, " ") << "\n";
}

void CheckAgainstReference(const ReferenceCase& test) {
  for (const std::string& text : ReferenceFailures(test)) ADD_FAILURE() << text;
}

void ExpectCaseForEachOperation(const std::string& header,
                                const std::vector<GradientCase>& cases,
                                const std::set<std::string>& exempt) {
  std::set<std::string> covered = exempt;
  for (const GradientCase& test : cases) covered.insert(test.operation);
  const std::vector<std::string> operations = Operations(ReadFile(header));
  for (const std::string& operation : operations) {
    EXPECT_TRUE(covered.count(operation) > 0)
        << header << " declares " << operation
        << ", for which no gradient is checked";
  }
  EXPECT_FALSE(operations.empty()) << header << " declares no operation";
}

void ExpectTestForEachHeader(const std::string& folder,
                             const std::set<std::string>& exempt) {
  std::set<std::string> headers;
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with("_test.cc")) {
      tests += ReadFile(path);
    } else if (path.ends_with(".h")) {
      const std::string text = ReadFile(path);
      if (!Operations(text).empty()) headers.insert(path);
    } else if (path.ends_with(".cc") && RecordsGradients(ReadFile(path))) {
      // A source without a header of its own implements a part of another one.
      const std::string own =
          absl::StrCat(path.substr(0, path.size() - 2), "h");
      if (std::filesystem::exists(own)) headers.insert(own);
    }
  }
  EXPECT_FALSE(headers.empty()) << "no operations in " << folder;
  for (const std::string& header : headers) {
    const std::string call =
        absl::StrCat("ExpectCaseForEachOperation(\"", header, "\"");
    // Calls that are too long for a line are wrapped.
    const std::string spaceless = std::regex_replace(
        tests, std::regex("ExpectCaseForEachOperation\\(\\s+"),
        "ExpectCaseForEachOperation(");
    EXPECT_TRUE(exempt.count(header) > 0 ||
                spaceless.find(call) != std::string::npos)
        << header << " declares operations, but no test calls " << call;
  }
}

}  // namespace regard
