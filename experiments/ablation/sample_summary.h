// Mean and standard deviation of a few numbers.
#ifndef EXPERIMENTS_ABLATION_SAMPLE_SUMMARY_H_
#define EXPERIMENTS_ABLATION_SAMPLE_SUMMARY_H_

#include "absl/types/span.h"

namespace regard {

struct SampleSummary {
  int n = 0;
  double mean = 0;  // NaN for none
  // Of the sample, with n - 1; NaN for fewer than two.
  double standard_deviation = 0;
};

SampleSummary Summarize(absl::Span<const double> values);

}  // namespace regard

#endif  // EXPERIMENTS_ABLATION_SAMPLE_SUMMARY_H_
