// Correlation metrics: Pearson's correlation, and Spearman's correlation, which
// is Pearson's correlation of the ranks.
#ifndef LANGUAGE_CORRELATION_H_
#define LANGUAGE_CORRELATION_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Returns Pearson's correlation of x and y: their covariance divided by the
// product of their standard deviations. `sums` are the sums of 1, x, y, x^2,
// y^2 and x * y. 0 if x or y is constant, and NaN if x or y contains NaN.
double CorrelationOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kCorrelation = {"correlation", 6,
                                           &CorrelationOfSums};

// Returns the metric `name`, Pearson's correlation of x and y, which must have
// the same size. Subtracts the means first, to reduce rounding errors.
MetricOverExamples CorrelationMetric(const std::string& name,
                                     absl::Span<const double> x,
                                     absl::Span<const double> y);

// Returns the rank of each number, counted from 1. Equal numbers share the mean
// of their ranks. All ranks are NaN if any number is NaN.
//
// Spearman's correlation is the correlation of ranks. Resamples of a metric
// keep the ranks of the whole set.
std::vector<double> RanksOf(absl::Span<const double> numbers);

}  // namespace regard

#endif  // LANGUAGE_CORRELATION_H_
