// Ranks that are processes of an MPI job. mpirun or srun starts the job, on one
// machine or on several.
//
// Ranks monitor each other. If a rank is silent, because it is stopped or its
// machine has failed, all ranks end.
#ifndef OPTIMIZATION_RANKS_MPI_RANKS_H_
#define OPTIMIZATION_RANKS_MPI_RANKS_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/types/span.h"
#include "mpi.h"
#include "optimization/ranks/ranks.h"

namespace regard {

class MpiRanks : public Ranks {
 public:
  // Must be created once, at the beginning of main(). Ends the process if MPI
  // fails.
  MpiRanks(int* argc, char*** argv);
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void Exchange(int partner, absl::Span<const uint8_t> sent,
                absl::Span<uint8_t> received) override;

  // Ends MPI. Must be the last call. `code` is the exit code of this rank. If
  // all ranks end with 0 or the code of a signal, waits for them and returns
  // `code`. Any other code ends all ranks immediately.
  int End(int code);

 private:
  // Sends signs of life to the previous rank, and listens to the next rank,
  // until both ranks have ended.
  void ExchangeHeartbeatsUntilEnd();
  // Sleeps for a moment. After End() has been called, sleeps for a shorter
  // time. Returns whether End() has been called.
  bool SleepAndCheckEnding();
  [[noreturn]] void EndAll(int code);

  int rank_ = 0;
  int size_ = 1;
  std::vector<std::string> machines_;  // indexed by rank
  MPI_Comm beats_ = MPI_COMM_NULL;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread watch_;
};

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_MPI_RANKS_H_
