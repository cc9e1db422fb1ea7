// Times workloads against each other on one thread. They take turns, so that a
// slow moment of the machine affects all of them, and what is compared is the
// ratio of times within one round.
#ifndef AUTODIFF_TESTING_INTERLEAVED_TIMES_H_
#define AUTODIFF_TESTING_INTERLEAVED_TIMES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace regard {

struct InterleavedTime {
  double seconds = 0;  // per step, the median over the rounds
  // Time divided by the baseline's in the same round: median and quartiles.
  double ratio = 0;
  double lower_quartile = 0;
  double upper_quartile = 0;

  // "1.23 (1.20 - 1.26)": the ratio and its quartiles.
  std::string RatioText() const;
};

// Processor time of this process, in seconds.
double ProcessorSeconds();

// Each workload is a step. In each of the rounds, at least one, every workload
// runs for about `seconds`, and one step at least. `now` is a clock.
std::vector<InterleavedTime> TimeInterleaved(
    const std::vector<std::function<void()>>& workloads, size_t baseline,
    int rounds, double seconds, double (*now)() = &ProcessorSeconds);

// The only argument of a program, a number of rounds; `otherwise` without one.
// 0, after a message on standard error, where it is not a positive number.
int RoundsFromArguments(int argc, char** argv, int otherwise);

}  // namespace regard

#endif  // AUTODIFF_TESTING_INTERLEAVED_TIMES_H_
