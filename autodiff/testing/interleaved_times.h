// Compares the times of workloads on one thread. The workloads are interleaved,
// so that a slow moment of the machine affects all of them. Times are compared
// as ratios within one round.
#ifndef AUTODIFF_TESTING_INTERLEAVED_TIMES_H_
#define AUTODIFF_TESTING_INTERLEAVED_TIMES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace regard {

struct WorkloadTime {
  double seconds = 0;  // per step, the median over the rounds
  // The median and quartiles of the time divided by the baseline's time in the
  // same round.
  double ratio = 0;
  double lower_quartile = 0;
  double upper_quartile = 0;

  // The ratio and its quartiles, such as "1.23 (1.20 - 1.26)".
  std::string RatioText() const;
};

// Returns the processor time of this process, in seconds.
double ProcessorSeconds();

// Measures the workloads. A call of a workload is one step. In each of
// `rounds` >= 1 rounds, every workload runs for about `seconds`, and for at
// least one step. `now` is the clock, in seconds.
std::vector<WorkloadTime> TimeInterleaved(
    const std::vector<std::function<void()>>& workloads, size_t baseline,
    int rounds, double seconds, double (*now)() = &ProcessorSeconds);

// Returns the number of rounds, which is the only argument of the program.
// Returns `otherwise` if there is no argument. If the argument is not a
// positive number, prints a message on standard error and returns 0.
int RoundsFromArguments(int argc, char** argv, int otherwise);

}  // namespace regard

#endif  // AUTODIFF_TESTING_INTERLEAVED_TIMES_H_
