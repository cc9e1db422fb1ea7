// Regard's program in the benchmark. Runs steps of one workload on command.
//
// Commands are read from standard input, one per line. Answers are written to
// standard output:
//
//   write PATH   -> ok; writes the weights as safetensors
//   check        -> numbers that must agree between frameworks
//   run COUNT    -> seconds of COUNT steps, and their processor time
//   allocations  -> heap allocations of one step
//   memory       -> maximum resident memory so far, in KiB
//   kernel       -> the implementation of bfloat16 products on this machine
//   quit
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "autodiff/kernels/gemm.h"
#include "autodiff/testing/allocation_counter.h"
#include "autodiff/worker_pool.h"
#include "files/file.h"
#include "files/safetensors.h"
#include "nn/matched_precision.h"
#include "nn/parameters.h"
#include "nn/weights.h"
#include "tools/peers/make_work.h"
#include "tools/peers/timed_work.h"
#include "tools/peers/work_options.h"

namespace regard {

namespace {

// Restricts this process to as many cores as it has threads.
void Pin(int threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t kept;
  CPU_ZERO(&kept);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&kept) < threads; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &kept);
  }
  // Ignores failures, which only make the measurement noisier.
  sched_setaffinity(0, sizeof(kept), &kept);
}

double Now(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

std::string SecondsOf(TimedWork& work, int64_t steps) {
  const double begin = Now(CLOCK_MONOTONIC);
  const double begin_busy = Now(CLOCK_PROCESS_CPUTIME_ID);
  for (int64_t i = 0; i < steps; ++i) work.Step();
  return absl::StrFormat("%.9f %.9f", Now(CLOCK_MONOTONIC) - begin,
                         Now(CLOCK_PROCESS_CPUTIME_ID) - begin_busy);
}

int Serve(TimedWork& work) {
  std::string command;
  while (std::cin >> command && command != "quit") {
    if (command == "write") {
      std::string path;
      std::cin >> path;
      const ParameterStore<float>& parameters = work.parameters();
      const absl::Status status = WriteSafetensorsFile(
          path, SlabViews(parameters, parameters.values(), /*prefix=*/""),
          /*metadata=*/{}, SystemFiles());
      if (!status.ok()) {
        std::cerr << status.ToString() << "\n";
        return 1;
      }
      std::cout << "ok";
    } else if (command == "check") {
      std::cout << absl::StrJoin(work.NumbersToCompare(), " ",
                                 [](std::string* out, double number) {
                                   absl::StrAppendFormat(out, "%.9g", number);
                                 });
    } else if (command == "run") {
      int64_t steps = 0;
      std::cin >> steps;
      std::cout << SecondsOf(work, steps);
    } else if (command == "allocations") {
      const int64_t before = AllocationCount();
      work.Step();
      std::cout << AllocationCount() - before;
    } else if (command == "memory") {
      rusage usage = {};
      getrusage(RUSAGE_SELF, &usage);
      std::cout << usage.ru_maxrss;
    } else if (command == "kernel") {
      std::cout << Bfloat16Kernel();
    } else {
      std::cerr << "no such command: " << command << "\n";
      return 2;
    }
    std::cout << std::endl;
  }
  return 0;
}

int Main(int argc, char** argv) {
  const absl::StatusOr<WorkOptions> options = ParseWorkOptions(argc, argv);
  if (!options.ok()) {
    std::cerr << options.status().message() << "\n";
    return 2;
  }
  Pin(options->threads);
  FlushDenormalsToZero();
  const std::unique_ptr<TimedWork> work = MakeWork(*options);
  if (work == nullptr) {
    std::cerr << "no such kind of work: " << options->kind << "\n";
    return 2;
  }
  if (options->bfloat16) {
    work->parameters().set_precision(
        std::make_shared<MatchedPrecision>(std::vector<std::string>()));
  }
  return Serve(*work);
}

}  // namespace

}  // namespace regard

int main(int argc, char** argv) { return regard::Main(argc, argv); }
