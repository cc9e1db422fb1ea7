// Expectations about the answers of a scoring function. No test framework is
// needed: a failure is text.
#ifndef ATTENTION_CHECKS_EXPECTATIONS_H_
#define ATTENTION_CHECKS_EXPECTATIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "attention/checks/scoring_problem.h"

namespace regard {

class Expectations {
 public:
  void True(bool holds, const std::string& what);

  // Each element differs by at most `tolerance` times the largest finite
  // magnitude expected, or 1; 0 asks for equal numbers.
  void Near(const TestArray& got, const TestArray& expected, double tolerance,
            const std::string& what);

  // Compares everything except the gradients of parameters.
  void SameAnswer(const ScoringAnswer& got, const ScoringAnswer& expected,
                  double tolerance, const std::string& what);

  void SameParameterGradients(const ScoringAnswer& got,
                              const ScoringAnswer& expected, double tolerance);

  void Zero(const TestArray& array, const std::string& what);

  void Finite(const ScoringAnswer& answer);

  // The check does not apply to this score.
  void Skip(std::string reason) { skipped_ = std::move(reason); }

  // One line each; empty if all held.
  const std::vector<std::string>& failures() const { return failures_; }
  const std::string& skipped() const { return skipped_; }

 private:
  std::vector<std::string> failures_;
  std::string skipped_;
};

}  // namespace regard

#endif  // ATTENTION_CHECKS_EXPECTATIONS_H_
