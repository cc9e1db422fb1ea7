// Ranks that are processes of an MPI job, started by mpirun or srun on one
// machine or on several.
//
// They watch each other: a rank from which nothing is heard, since it is
// stopped or its machine is gone, ends all of them.
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
  // One per process, first thing in main(). Ends the process if MPI cannot be
  // used.
  MpiRanks(int* argc, char*** argv);
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void Exchange(int partner, absl::Span<const uint8_t> sent,
                absl::Span<uint8_t> received) override;

  // To be called last. If all ranks end with such an exit code, 0 or that of a
  // signal, waits for them and returns it. With any other, ends all ranks at
  // once.
  int End(int code);

 private:
  // Tells the rank before this one that this one lives, and listens to the one
  // after it, until both have ended.
  void Watch();
  // Sleeps for a moment, shorter once End() has been called; whether it has.
  bool Rest();
  [[noreturn]] void EndAll(int code);

  int rank_ = 0;
  int size_ = 1;
  std::vector<std::string> machines_;  // of each rank
  MPI_Comm beats_ = MPI_COMM_NULL;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread watch_;
};

}  // namespace regard

#endif  // OPTIMIZATION_RANKS_MPI_RANKS_H_
