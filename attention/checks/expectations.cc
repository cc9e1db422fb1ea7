#include "attention/checks/expectations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace regard {

void Expectations::True(bool holds, const std::string& what) {
  if (!holds) failures_.push_back(what);
}

void Expectations::Near(const TestArray& got, const TestArray& expected,
                        double tolerance, const std::string& what) {
  if (!(got.shape == expected.shape)) {
    return True(false, absl::StrCat(what, ": shape ", got.shape.ToString(),
                                    ", expected ", expected.shape.ToString()));
  }
  double largest = 1;
  for (const double x : expected.values) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (size_t i = 0; i < got.values.size(); ++i) {
    const double x = got.values[i];
    const double y = expected.values[i];
    // `x == y` also accepts equal infinities.
    if (x == y || std::abs(x - y) <= tolerance * largest) continue;
    return True(false,
                absl::StrCat(what, ", element ", i, ": ", x, ", expected ", y,
                             ", the difference is ", x - y));
  }
}

void Expectations::SameExceptParameterGradients(const ScoringResult& got,
                                                const ScoringResult& expected,
                                                double tolerance,
                                                const std::string& what) {
  Near(got.context, expected.context, tolerance, what + ": context");
  Near(got.weights, expected.weights, tolerance, what + ": weights");
  Near(got.d_queries, expected.d_queries, tolerance,
       what + ": gradient of the queries");
  Near(got.d_keys, expected.d_keys, tolerance, what + ": gradient of the keys");
  Near(got.d_values, expected.d_values, tolerance,
       what + ": gradient of the values");
  Near(got.d_query_x, expected.d_query_x, tolerance,
       what + ": gradient of the queries' input");
  Near(got.d_key_x, expected.d_key_x, tolerance,
       what + ": gradient of the keys' input");
}

void Expectations::SameParameterGradients(const ScoringResult& got,
                                          const ScoringResult& expected,
                                          double tolerance) {
  for (const auto& [name, gradient] : expected.d_parameters) {
    Near(got.d_parameters.at(name), gradient, tolerance, "gradient of " + name);
  }
}

void Expectations::AllZero(const TestArray& array, const std::string& what) {
  for (size_t i = 0; i < array.values.size(); ++i) {
    if (array.values[i] == 0) continue;
    return True(false, absl::StrCat(what, ", element ", i, ": ",
                                    array.values[i], ", expected 0"));
  }
}

void Expectations::AllFinite(const ScoringResult& result) {
  const auto expect = [this](const TestArray& array, const std::string& what) {
    const bool finite = std::all_of(array.values.begin(), array.values.end(),
                                    [](double x) { return std::isfinite(x); });
    True(finite, what + " is not finite");
  };
  expect(result.weights, "weights");
  expect(result.context, "context");
  expect(result.d_queries, "gradient of the queries");
  expect(result.d_keys, "gradient of the keys");
  expect(result.d_values, "gradient of the values");
  expect(result.d_query_x, "gradient of the queries' input");
  expect(result.d_key_x, "gradient of the keys' input");
  for (const auto& [name, gradient] : result.d_parameters) {
    expect(gradient, "gradient of " + name);
  }
}

}  // namespace regard
