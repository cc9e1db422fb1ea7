// Measures the bandwidth of reading memory. In the benchmark, it is 100 % for
// workloads that read all of their weights and compute little. For each line of
// its input, prints the GB/s of one thread, and of two threads at once.
//
// In a virtual machine, the bandwidth can change by a factor of 1.5 within a
// second, because other machines use the same memory. Therefore, the benchmark
// measures it before and after each workload. A measurement takes some tenths
// of a second, like a workload.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <thread>

namespace {

typedef uint64_t Lanes __attribute__((vector_size(64)));

// Size of the memory, which is much larger than any cache.
constexpr int64_t kBytes = int64_t{1} << 30;
constexpr int64_t kHugePage = int64_t{1} << 21;
constexpr int kRepeats = 4;
// Distance between the parts of two threads. Without it, the threads might read
// from the same bank of memory.
constexpr int64_t kOffset = int64_t{1} << 20;

// Returns the seconds that reading `bytes` bytes from `data` takes.
double Spend(const char* data, int64_t bytes) {
  constexpr int kSums = 8;
  Lanes sums[kSums] = {};
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t at = 0; at < bytes; at += kSums * sizeof(Lanes)) {
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) {
      sums[i] += reinterpret_cast<const Lanes*>(data + at)[i];
    }
  }
  const std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - begin;
  for (Lanes& sum : sums) asm volatile("" : : "m"(sum));
  return spent.count();
}

double GigabytesOf(const char* data, int threads) {
  double spent = 0;
  const int64_t part = (kBytes - kOffset) / threads;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    double seconds[2] = {};
    std::thread other;
    if (threads == 2) {
      const char* const begin = data + part + kOffset;
      other = std::thread([&, begin] { seconds[1] = Spend(begin, part); });
    }
    seconds[0] = Spend(data, part);
    if (other.joinable()) other.join();
    spent += std::max(seconds[0], seconds[1]);
  }
  return 1e-9 * static_cast<double>(kRepeats * threads * part) / spent;
}

}  // namespace

int main() {
  char* const data = static_cast<char*>(std::aligned_alloc(kHugePage, kBytes));
  if (data == nullptr) {
    std::cerr << "no memory\n";
    return 1;
  }
  // Without huge pages, the processor would also have to look up 2^18 pages.
  madvise(data, kBytes, MADV_HUGEPAGE);
  std::memset(data, 1, kBytes);
  std::string line;
  while (std::getline(std::cin, line)) {
    const double one = GigabytesOf(data, 1);
    std::cout << one << " " << GigabytesOf(data, 2) << std::endl;
  }
  return 0;
}
