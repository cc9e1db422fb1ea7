// How well one number of each example follows another.
#ifndef LANGUAGE_CORRELATION_H_
#define LANGUAGE_CORRELATION_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "optimization/evaluated_set.h"

namespace regard {

// Of the sums of 1, x, y, x^2, y^2 and x y: the covariance of x and y divided
// by their standard deviations. 0 where one of them is constant, NaN where one
// holds NaN.
double CorrelationOfSums(absl::Span<const double> sums);

inline constexpr Aggregate kCorrelation = {"correlation", 6,
                                           &CorrelationOfSums};

// Pearson's correlation of x and y, which are of one size, as a metric. Their
// means are subtracted first, which changes no correlation but its rounding.
ExampleMetric CorrelationMetric(const std::string& name,
                                absl::Span<const double> x,
                                absl::Span<const double> y);

// The rank of each number among all, from 1; equal numbers share the mean of
// their ranks. All are NaN where a number is. The correlation of ranks is
// Spearman's. Resamples of a metric keep the ranks that the examples have in
// the whole set.
std::vector<double> RanksOf(absl::Span<const double> numbers);

}  // namespace regard

#endif  // LANGUAGE_CORRELATION_H_
