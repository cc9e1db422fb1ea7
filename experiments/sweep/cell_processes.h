// Runs functions for cells in child processes of this program, started with
// fork().
#ifndef EXPERIMENTS_SWEEP_CELL_PROCESSES_H_
#define EXPERIMENTS_SWEEP_CELL_PROCESSES_H_

#include <signal.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace regard {

// Starts and waits for child processes. While an object exists, SIGINT and
// SIGTERM do not end this process. They are passed on to the children, which
// have their own process groups. If this process dies, the children get
// SIGTERM. This process must have no other threads.
class CellProcesses {
 public:
  CellProcesses();
  // Kills the children that are still running.
  ~CellProcesses();
  CellProcesses(const CellProcesses&) = delete;
  CellProcesses& operator=(const CellProcesses&) = delete;

  // Starts a child that runs `run` and exits with its result. The output of the
  // child is appended to the file `log`.
  absl::Status Start(size_t cell, const std::string& log,
                     const std::function<int()>& run);

  struct Ended {
    size_t cell = 0;
    int exit_code = 0;  // 128 plus the number of the signal that ended it
    double core_seconds = 0;
  };
  // Returns the children that have ended. Waits for a child or a signal, at
  // most `longest`.
  std::vector<Ended> Wait(absl::Duration longest);

  size_t running() const { return children_.size(); }
  // The first signal that requested the end of this process, or 0.
  int stop_signal() const { return stop_signal_; }

 private:
  std::map<pid_t, size_t> children_;  // the cell of each child
  sigset_t watched_;
  sigset_t before_;
  int stop_signal_ = 0;
};

// Calls `compute` with each number from 0 to count - 1, and returns the texts
// or errors. Each call has its own child process. At most `jobs` children run
// at the same time.
std::vector<absl::StatusOr<std::string>> ComputeInChildren(
    size_t count, int jobs,
    absl::FunctionRef<absl::StatusOr<std::string>(size_t)> compute);

}  // namespace regard

#endif  // EXPERIMENTS_SWEEP_CELL_PROCESSES_H_
