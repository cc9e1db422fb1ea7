#include "attention/testing/expect_answers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "gtest/gtest.h"

namespace regard {

void ExpectNear(const TestArray& got, const TestArray& expected,
                double tolerance, const std::string& what) {
  ASSERT_EQ(got.shape, expected.shape) << what;
  double largest = 1;
  for (const double x : expected.values)
    largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < got.values.size(); ++i) {
    // Infinities of one sign are equal.
    if (got.values[i] == expected.values[i]) continue;
    ASSERT_NEAR(got.values[i], expected.values[i], tolerance * largest)
        << what << ", element " << i;
  }
}

void ExpectSameAnswer(const ScoringAnswer& got, const ScoringAnswer& expected,
                      double tolerance, const std::string& what) {
  ExpectNear(got.context, expected.context, tolerance, what + ": context");
  ExpectNear(got.weights, expected.weights, tolerance, what + ": weights");
  ExpectNear(got.d_queries, expected.d_queries, tolerance,
             what + ": gradient of the queries");
  ExpectNear(got.d_keys, expected.d_keys, tolerance,
             what + ": gradient of the keys");
  ExpectNear(got.d_values, expected.d_values, tolerance,
             what + ": gradient of the values");
}

void ExpectSameParameterGradients(const ScoringAnswer& got,
                                  const ScoringAnswer& expected,
                                  double tolerance) {
  for (const auto& [name, gradient] : expected.d_parameters) {
    ExpectNear(got.d_parameters.at(name), gradient, tolerance,
               "gradient of " + name);
  }
}

void ExpectZero(const TestArray& array, const std::string& what) {
  for (size_t i = 0; i < array.values.size(); ++i) {
    ASSERT_EQ(array.values[i], 0) << what << ", element " << i;
  }
}

void ExpectFinite(const ScoringAnswer& answer) {
  const auto expect = [](const TestArray& array, const std::string& what) {
    for (const double x : array.values) ASSERT_TRUE(std::isfinite(x)) << what;
  };
  expect(answer.weights, "weights");
  expect(answer.context, "context");
  expect(answer.d_queries, "gradient of the queries");
  expect(answer.d_keys, "gradient of the keys");
  expect(answer.d_values, "gradient of the values");
  for (const auto& [name, gradient] : answer.d_parameters) {
    expect(gradient, "gradient of " + name);
  }
}

}  // namespace regard
