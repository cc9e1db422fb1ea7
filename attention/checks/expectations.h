// Collects failed expectations about the results of a plug-in. Needs no test
// framework: each failure is a line of text.
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

  // Expects that elements agree within `tolerance` times the largest finite
  // magnitude in `expected`, or within `tolerance` if that magnitude is below
  // 1. A tolerance of 0 requires equal elements.
  void Near(const TestArray& got, const TestArray& expected, double tolerance,
            const std::string& what);

  // Compares everything except the gradients of parameters.
  void SameExceptParameterGradients(const ScoringResult& got,
                                    const ScoringResult& expected,
                                    double tolerance, const std::string& what);

  void SameParameterGradients(const ScoringResult& got,
                              const ScoringResult& expected, double tolerance);

  void AllZero(const TestArray& array, const std::string& what);

  void AllFinite(const ScoringResult& result);

  // Records that the check does not apply, and why.
  void Skip(std::string reason) { skipped_ = std::move(reason); }

  // One line per failure. Empty if all expectations were met.
  const std::vector<std::string>& failures() const { return failures_; }
  const std::string& skipped() const { return skipped_; }

 private:
  std::vector<std::string> failures_;
  std::string skipped_;
};

}  // namespace regard

#endif  // ATTENTION_CHECKS_EXPECTATIONS_H_
