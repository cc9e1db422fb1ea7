#include "autodiff/testing/interleaved_times.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace regard {

namespace {

// Returns the quantile of `values` at `fraction`, rounded to the nearest value.
double Quantile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(
      std::lround(fraction * static_cast<double>(values.size() - 1)))];
}

}  // namespace

std::string WorkloadTime::RatioText() const {
  return absl::StrFormat("%.2f (%.2f - %.2f)", ratio, lower_quartile,
                         upper_quartile);
}

double ProcessorSeconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::vector<WorkloadTime> TimeInterleaved(
    const std::vector<std::function<void()>>& workloads, size_t baseline,
    int rounds, double seconds, double (*now)()) {
  const size_t n = workloads.size();
  const auto seconds_per_step = [&](size_t i, int steps) {
    const double begin = now();
    for (int step = 0; step < steps; ++step) workloads[i]();
    return (now() - begin) / steps;
  };
  std::vector<int> steps;
  for (size_t i = 0; i < n; ++i) {
    seconds_per_step(i, 1);  // The first step allocates memory.
    const double once = std::max(seconds_per_step(i, 1), 1e-6);
    steps.push_back(std::max(1, static_cast<int>(seconds / once)));
  }
  std::vector<std::vector<double>> times(n);
  std::vector<std::vector<double>> ratios(n);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < n; ++i) {
      times[i].push_back(seconds_per_step(i, steps[i]));
    }
    for (size_t i = 0; i < n; ++i) {
      ratios[i].push_back(times[i].back() / times[baseline].back());
    }
  }
  std::vector<WorkloadTime> measured;
  for (size_t i = 0; i < n; ++i) {
    measured.push_back({.seconds = Quantile(times[i], 0.5),
                        .ratio = Quantile(ratios[i], 0.5),
                        .lower_quartile = Quantile(ratios[i], 0.25),
                        .upper_quartile = Quantile(ratios[i], 0.75)});
  }
  return measured;
}

int RoundsFromArguments(int argc, char** argv, int otherwise) {
  if (argc == 1) return otherwise;
  int rounds = 0;
  if (argc == 2 && absl::SimpleAtoi(argv[1], &rounds) && rounds > 0) {
    return rounds;
  }
  std::fprintf(stderr, "usage: %s [ROUNDS], a positive number; %d by default\n",
               argv[0], otherwise);
  return 0;
}

}  // namespace regard
