// Expectations about what a scoring function makes of a problem.
#ifndef ATTENTION_TESTING_EXPECT_ANSWERS_H_
#define ATTENTION_TESTING_EXPECT_ANSWERS_H_

#include <string>

#include "attention/testing/scoring_problem.h"

namespace regard {

// Each element differs by at most `tolerance` times the largest magnitude
// expected, or 1; 0 asks for equal numbers. `what` is for the message.
void ExpectNear(const TestArray& got, const TestArray& expected,
                double tolerance, const std::string& what);

// All of them but the gradients of parameters.
void ExpectSameAnswer(const ScoringAnswer& got, const ScoringAnswer& expected,
                      double tolerance, const std::string& what);

void ExpectSameParameterGradients(const ScoringAnswer& got,
                                  const ScoringAnswer& expected,
                                  double tolerance);

void ExpectZero(const TestArray& array, const std::string& what);

void ExpectFinite(const ScoringAnswer& answer);

}  // namespace regard

#endif  // ATTENTION_TESTING_EXPECT_ANSWERS_H_
