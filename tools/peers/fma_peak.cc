// Measures the peak rate of fused multiply-adds in float. The benchmark calls
// this rate 100 %. Prints the GFLOP/s of one thread, and of two threads at
// once.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>

namespace {

// The number of floats in a vector register of the target. If the registers are
// narrower, the compiler splits the vectors.
#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));

// The number of independent sums. Enough to hide the latency of an addition.
constexpr int kSums = 12;
constexpr int kRounds = 4000000;

// Claims to use a sum, so that the compiler cannot remove its computation.
#define KEEP(x) asm volatile("" : "+v"(x))

// Returns the seconds that kRounds rounds take.
double Spend() {
  Lanes sums[kSums] = {};
  Lanes factor = {};
  Lanes term = {};
  for (int lane = 0; lane < kLanes; ++lane) {
    factor[lane] = 0.999F;
    term[lane] = 0.001F;
  }
  KEEP(factor);
  KEEP(term);
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
    for (Lanes& sum : sums) sum = sum * factor + term;
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  for (Lanes& sum : sums) KEEP(sum);
  return spent.count();
}

double GigaflopsOf(int threads) {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    double seconds[2] = {};
    std::thread other;
    if (threads == 2) other = std::thread([&] { seconds[1] = Spend(); });
    seconds[0] = Spend();
    if (other.joinable()) other.join();
    best = std::max(best, 2e-9 * kLanes * kSums * kRounds * threads /
                              std::max(seconds[0], seconds[1]));
  }
  return best;
}

}  // namespace

int main() {
  std::cout << GigaflopsOf(1) << " " << GigaflopsOf(2) << "\n";
  return 0;
}
